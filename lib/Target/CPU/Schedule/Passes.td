//===- Passes.td - Schedules of the CPU -------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_SCHEDULE_PASSES_TD
#define RAPT_TARGET_CPU_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCPUFuse : Pass<"attn-cpu-fuse", "::mlir::ModuleOp"> {
  let summary = "decides which ops the dispatch of another op computes";
  let description = [{
    Sets `attn_cpu.fused_into` on each op that needs no dispatch of its own, because the tiles of another op, the root, compute it:

    - a matmul that only the epilogue of another matmul of the same activations reads, as gate and up of a gated linear unit (fused dual matmul);
    - the rotation of heads that one matmul makes (`attn.rope`);
    - the cast of activations to bf16 (`attn_cpu.cast_rows`), which the op that makes the rows does when it writes them.

    The attribute alone holds the decision: costs become those of dispatches here, `attn-cpu-tile` follows it, and remarks of the category fusion
    tell it, or why a fusion is not legal. An op whose attribute is removed is a dispatch, and the numbers are the same; one that is not legal is refused
    (`attn-verify-laid-out`, `attn-cpu-tile`).

    ```mlir
    module attributes {attn.target = {target = "cpu", vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
        %up = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
        %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
        ^bb0(%gate: f32, %u: f32):
          %0 = arith.mulf %gate, %u : f32
          attn.yield %0 : f32
        }
        return %y : tensor<?x64xf32>
      }
    }
    ```
    becomes
    ```
        %up = attn.linear %x, %v {attn_cpu.fused_into = #attn_cpu.root<consumer>, layout = ...} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect"];
}

def AttnCPUSchedule : Pass<"attn-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the schedule of each op for the CPU";
  let description = [{
    Sets `attn.schedule` on every op that has choices, from the target's capabilities (`attn.target`) and the op's shapes: tiles, micro-kernel and k blocks
    of a matmul, tiles and KV blocks of attention, sequences of a recurrence's tile. Later passes read the schedule and know no tuned number.
    dialect/AttnCPU/AttnCPUSchedules.td defines them. `attn-verify-laid-out` and `attn-cpu-tile` reject an edited schedule that the lowering cannot follow. An op
    that is not tiled for the CPU has the schedule of its neutral decomposition.

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
    #schedule = #attn_cpu.linear_schedule<kernel = <columns = 32, rows = 14>, rows = [14, 8, 4, 1], task_rows = 210>
        %y = attn.linear %x, %w {attn.schedule = #schedule, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect"];
}

def AttnVerifyLaidOut : Pass<"attn-verify-laid-out", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `laid-out`";
  let description = [{
    The module has its target (`attn.target`). Every parameter has a layout that the CPU knows, and bytes of its own in the weight file; ops read it as it lies. A cache has
    its layout in memory. Matmuls give whole panels, and padding is zero and not counted, as far as the layouts of parameters tell how many columns count. Every op
    that has choices has a schedule that the lowering can follow. Fusions (`attn_cpu.fused_into`) are legal. No op is an op of tiles. The dialects are attn, attn_cpu, arith, func, linalg, math, scf and tensor.

    ```mlir
    module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>,
                       linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
      func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
        %y = arith.addf %x, %x : tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
    stays as it is.
  }];
}

#endif
