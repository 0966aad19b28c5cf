//===- Passes.td - Schedules of the CPU -------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_SCHEDULE_PASSES_TD
#define RAPT_TARGET_CPU_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCPUSchedule : Pass<"attn-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses how the CPU's code does each op";
  let description = [{
    Sets `attn.schedule` on every op that has choices, from the target's capabilities (`attn.target`) and the op's shapes: tiles, micro-kernel and k blocks
    of a matmul, tiles and KV blocks of attention, sequences of a recurrence's tile. The passes below read it, and know no tuned number. lib/Target/CPU/Schedule/Schedule.h
    tells the names; an edited schedule that the code cannot follow is refused by its name (`attn-verify-laid-out`, `attn-cpu-tile`). An op that the CPU's
    tiles do not take has the schedule of its neutral decomposition. Runs last in the stage laid-out.

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
    The module has its target (`attn.target`). Every parameter has its layout, and its offset and stride in the weight file. A cache has its
    layout in memory. Every op that has choices has its schedule, which the code can follow. No op is a tile yet. The dialects are attn, arith, func, linalg, math, scf and tensor.
  }];
}

#endif
