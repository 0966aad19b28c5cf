//===- Passes.td - Tiling for the CPU ---------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_TILE_PASSES_TD
#define RAPT_TARGET_CPU_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCPUTile : Pass<"attn-cpu-tile"> {
  let summary = "tiles attn ops into parallel grids";
  let description = [{
    Each attn op becomes an `scf.forall` over tasks, whose tiles are those of its schedule (`attn.schedule`, dialect/AttnCPU/AttnCPUSchedules.td):
    - A matmul is tiles of `linalg.matmul` on [rows, k] x [k, 32], whose epilogue is one `linalg.generic`; a quantized matmul is tiles of `attn_cpu.quantized_matmul`.
    - Attention is a loop over KV blocks with `attn_cpu.attention_state`.
    - A recurrence is one loop over time for a tile of sequences.
    - Rowwise ops (norms, look-ups) take vectors of 32 columns.

    Grids depend on shapes only. A matmul's tasks also rotate its heads (`attn.rope`) and compute a matmul whose only user is their epilogue (fused dual matmul, as gate and
    up of a GLU). The op that computes the rows of a bf16 dot-product matmul casts them to bf16. An op that no schedule takes is lowered by its neutral decomposition, with a remark.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
      %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [14, 8, 4, 1], task_rows = 210>, layout = #attn_cpu.panels<columns = 32, interleave = 1>}
        : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    becomes a grid over (blocks of at most 210 rows, panels), with loops over tiles of 14, 8, 4 rows and single rows:
    ```
    %y = scf.forall (%task, %panel) in (%tasks, 2) shared_outs(%out = %empty) -> (tensor<?x64xf32>) {
      ...
      %w0 = tensor.extract_slice %w[%panel, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<2x64x32xf32> to tensor<64x32xf32>
      %1 = scf.for %row = %c0 to %end step %c14 iter_args(%rows = %slice) -> (tensor<?x32xf32>) {
        %first = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%begin, %row)
        %x0 = tensor.extract_slice %x[%first, 0] [14, 64] [1, 1] : tensor<?x64xf32> to tensor<14x64xf32>
        %tile = tensor.extract_slice %rows[%row, 0] [14, 32] [1, 1] : tensor<?x32xf32> to tensor<14x32xf32>
        %zero = linalg.fill ins(%f0 : f32) outs(%tile : tensor<14x32xf32>) -> tensor<14x32xf32>
        %y0 = linalg.matmul {attn.schedule = #schedule} ins(%x0, %w0 : tensor<14x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<14x32xf32>) -> tensor<14x32xf32>
        %next = tensor.insert_slice %y0 into %rows[%row, 0] [14, 32] [1, 1] : tensor<14x32xf32> into tensor<?x32xf32>
        scf.yield %next : tensor<?x32xf32>
      }
      %2 = scf.for %row = %end to %end8 step %c8 iter_args(%rows = %1) -> (tensor<?x32xf32>) {
      ...
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %4 into %out[%begin, %column] [%count, 32] [1, 1] : tensor<?x32xf32> into tensor<?x64xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnVerifyTiled : Pass<"attn-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `tiled`";
  let description = [{
    No op of `attn` remains but declarations and parameter slices. No tensor has an encoding or quantized elements. The other dialects are attn_cpu, affine, arith, func,
    linalg, math, scf, tensor, ub and vector. The module has its target and the schedules of no single op, each matmul tile and attention state its micro-kernel. An op of linalg
    whose parallel loops have no bound is in a grid.

    ```mlir
    module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>,
                       linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
    func.func @f(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
      %f0 = arith.constant 0.0 : f32
      %0 = linalg.fill ins(%f0 : f32) outs(%x : tensor<8x32xf32>) -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    }
    ```
    stays as it is.
  }];
}

#endif
