//===- Passes.td - Conversions between dialects ------------------------*- tablegen -*-===//
#ifndef RAPT_CONVERSION_PASSES_TD
#define RAPT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToLinalg : Pass<"attn-to-linalg"> {
  let summary = "attn ops become linalg, tensor and scf on tensors";
  let description = [{
    Every op of attn is decomposed without knowledge of a target, on logical shapes: elementwise ops, norms, look-ups and positions become
    `linalg.generic`, a matmul zeros, sums and its epilogue; attention becomes a grid (`scf.forall`) over tiles of 16 queries of each sequence and head with a
    loop over KV blocks of online softmax, so that its memory is that of a tile; a recurrence becomes a grid over sequences with a loop over time. Declarations, parameter slices and `attn.dim_size` stay.
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

#endif
