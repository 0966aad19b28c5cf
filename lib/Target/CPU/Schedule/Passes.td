//===- Passes.td - Schedules of the CPU -------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_SCHEDULE_PASSES_TD
#define RAPT_TARGET_CPU_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCPUSchedule : Pass<"attn-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the schedule of each op for the CPU";
  let description = [{
    Sets `attn.schedule` on every op that has choices, from the target's capabilities (`attn.target`) and the op's shapes: tiles, micro-kernel and k blocks
    of a matmul, tiles and KV blocks of attention, sequences of a recurrence's tile. Later passes read the schedule and know no tuned number.
    lib/Target/CPU/Schedule/Schedule.h lists the names. `attn-verify-laid-out` and `attn-cpu-tile` reject an edited schedule that the lowering cannot follow. An op
    that is not tiled for the CPU has the schedule of its neutral decomposition. Runs last in the stage `laid-out`.

    ```mlir
    module attributes {attn.target = {target = "cpu", vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
        %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
    becomes
    ```
    #schedule = #attn.schedule<kernel = <columns = 32, rows = 14>, rows = [14, 8, 4, 1], task_rows = 210>
        %y = attn.linear %x, %w {attn.schedule = #schedule, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
}

def AttnVerifyLaidOut : Pass<"attn-verify-laid-out", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `laid-out`";
  let description = [{
    The module has its target (`attn.target`). Every parameter has its layout, and its offset and stride in the weight file. A cache has its layout in memory. Every op
    that has choices has a schedule that the lowering can follow. No op is an op of tiles. The dialects are attn, attn_cpu, arith, func, linalg, math, scf and tensor.

    ```mlir
    module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn.schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>,
                       linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
      func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
        %y = attn.add %x, %x : tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
    stays as it is.
  }];
}

#endif
