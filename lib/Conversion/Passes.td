//===- Passes.td - Conversions between dialects ------------------------*- tablegen -*-===//
#ifndef RAPT_CONVERSION_PASSES_TD
#define RAPT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToLinalg : Pass<"attn-to-linalg"> {
  let summary = "attn ops become linalg, tensor and scf on tensors";
  let description = [{
    Every op of attn is decomposed without knowledge of a target, on logical shapes: elementwise ops, norms, look-ups and positions become
    `linalg.generic`, a matmul zeros, sums and its epilogue; attention becomes a grid (`scf.forall`) over tiles of queries of each sequence and head with a
    loop over KV blocks of online softmax, so that its memory is that of a tile, both of the sizes of its schedule (`attn.schedule` with `queries` and `keys`); a recurrence becomes a grid over sequences with a loop over time. Declarations, parameter slices and `attn.dim_size` stay.
    Ops on the cache need its layout, which a target's own pass gives; without it they are refused.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x80xf32>, %b: tensor<80xf32>) -> tensor<?x80xf32> {
      %y = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x80xf32>, (tensor<80xf32>) -> tensor<?x80xf32> {
      ^bb0(%sum: f32, %bias: f32):
        %0 = arith.addf %sum, %bias : f32
        attn.yield %0 : f32
      }
      return %y : tensor<?x80xf32>
    }
    ```
    becomes `linalg.fill`, a `linalg.generic` over (row, depth, column), and one over (row, column) that adds the bias.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnTileLinalg : Pass<"attn-tile-linalg"> {
  let summary = "linalg ops become parallel grids of tiles";
  let description = [{
    Every linalg op outside of a grid becomes an `scf.forall` over tiles of its last two parallel loops, of at most as many points as `linalg = <columns = .., rows = ..>` of the
    module's `attn.schedule` says, and over the other ones
    point by point. Reductions stay whole, so that sums are in one order. Sizes are numbers of the text: results have the same bits for any number of threads.

    A tensor that a loop carries and an iteration makes elsewhere is copied back at its end, and extents are those of the entry's arguments.

    ```mlir
    module attributes {attn.schedule = #attn.schedule<linalg = <columns = 256, rows = 16>>} {
      func.func @zero(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
        %f0 = arith.constant 0.0 : f32
        %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
        return %y : tensor<?x1024xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnLinalgToLoops : Pass<"attn-linalg-to-loops"> {
  let summary = "linalg ops and copies on buffers become loops";
  let description = [{
    Bufferized linalg ops become `scf.for` over scalars, which LLVM vectorizes, and so do copies that bufferization left; a copy of a buffer onto itself goes
    away.

    ```mlir
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
      memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
