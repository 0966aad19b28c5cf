//===- Passes.td - Tiles of the CPU -----------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_TILE_PASSES_TD
#define RAPT_TARGET_CPU_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCPUTile : Pass<"attn-cpu-tile"> {
  let summary = "turns attn ops into parallel grids of tiles";
  let description = [{
    Every attn op with materialized layouts becomes an `scf.forall` whose tasks work on tiles of its schedule (`attn.schedule`, lib/Target/CPU/Schedule/Schedule.h): products as
    `linalg.matmul` on [rows, k] x [k, 32] with their epilogue as one `linalg.generic`, attention as `attn_cpu.attention_state` over blocks of
    keys, quantized products as
    `attn_cpu.quantized_matmul`, a recurrence as one loop over time for a tile of sequences, rows (norms, look-ups) as vectors of 32 columns. Grids depend on shapes only.
    Three things are done by the tasks of the op before them: the rotation of a product's heads, a product that only another's
    epilogue reads, as the half of a gated linear unit, and the rounding of rows for products of bf16.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
      %y = attn.linear %x, %w {attn.schedule = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [14, 8, 4, 1], task_rows = 210>, layout = #attn_cpu.panels<columns = 32, interleave = 1>}
        : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    becomes a grid over (blocks of at most 210 rows, panels), with loops over tiles of 14 rows, of 8, of 4, and single rows.
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnVerifyTiled : Pass<"attn-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `tiled`";
  let description = [{
    No op of `attn` is left but declarations and parameter slices, and no tensor has an encoding or quantized elements. The other dialects are attn_cpu, affine, arith, func, linalg, math, scf, tensor, ub and vector.
  }];
}

#endif
