//===- Passes.td - The generic target ---------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_GENERIC_PASSES_TD
#define RAPT_TARGET_GENERIC_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnGenericLayout : Pass<"attn-generic-layout", "::mlir::ModuleOp"> {
  let summary = "parameters and the cache by rows";
  let description = [{
    Each `attn.parameter` gets a row-major layout, an offset and a stride; rows are padded as the weight file has them, and readers take a slice.
    A quantized parameter lies in panels, as the weight file stores codes, and is dequantized before it is multiplied; quantized rows become
    the numbers that their codes stand for. `!attn.kv_cache` becomes a tensor [blocks, layers, heads, 2, positions, channels], in i8 with the scale of
    each position behind its codes.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    Here `@w` becomes `tensor<64x96xf32>`, of which the matmul reads a slice of 80 columns.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGenericTile : Pass<"attn-generic-tile"> {
  let summary = "linalg ops become parallel grids of tiles";
  let description = [{
    Every linalg op outside of a grid becomes an `scf.forall` over tiles of its last two parallel loops, of at most 16 x 256 points, and over the other ones
    point by point. Reductions stay whole, so that sums are in one order. Sizes are constants: results have the same bits for any number of threads.

    ```mlir
    func.func @zero(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
      %f0 = arith.constant 0.0 : f32
      %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
      return %y : tensor<?x1024xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGenericLoops : Pass<"attn-generic-loops"> {
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

def AttnVerifyGeneric : Pass<"attn-verify-generic", "::mlir::ModuleOp"> {
  let summary = "checks the contracts of the generic target's stages `laid-out` and `tiled`";
  let description = [{
    The module has its target (`attn.target`), every parameter its layout, offset and stride, and the cache its layout. With `tiled`, no attn op is left but
    declarations and parameter slices.
  }];
  let options = [Option<"tiled", "tiled", "bool", "false", "The stage is tiled, else laid-out">];
}

#endif
