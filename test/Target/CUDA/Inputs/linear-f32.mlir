// Matmuls of f32 whose kernels have all tiles: weights [k, n] and [n, k], of f32 and of bf16, and epilogues that read every kind of operand.
attn.dim @rows min 0 max 4096
func.func @sums(%x: tensor<?x4096xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<4096x4096xf32> {attn.name = "w"}) -> (tensor<?x4096xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w : tensor<?x4096xf32>, tensor<4096x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
func.func @residual(%x: tensor<?x512xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<2048x512xf32> {attn.name = "w"}, %r: tensor<?x2048xf32> {attn.name = "r", attn.dims = ["rows"]}) -> (tensor<?x2048xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w, (%r) transposed : tensor<?x512xf32>, tensor<2048x512xf32>, (tensor<?x2048xf32>) -> tensor<?x2048xf32> {
  ^bb0(%sum: f32, %residual: f32):
    %0 = arith.addf %sum, %residual : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x2048xf32>
}
func.func @gelu(%x: tensor<?x768xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<768x3072xbf16> {attn.name = "w"}, %b: tensor<3072xf32> {attn.name = "b"}) -> (tensor<?x3072xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %x, %w, (%b) : tensor<?x768xf32>, tensor<768x3072xbf16>, (tensor<3072xf32>) -> tensor<?x3072xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %1 = arith.addf %sum, %bias : f32
    attn.yield %1 : f32
  }
  %y = attn.activation gelu %0 : tensor<?x3072xf32>
  return %y : tensor<?x3072xf32>
}
func.func @odd(%x: tensor<?x1032xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<4103x1032xbf16> {attn.name = "w"}, %b: tensor<4103xbf16> {attn.name = "b"}, %g: tensor<?x4103xf32> {attn.name = "g", attn.dims = ["rows"]})
    -> (tensor<?x4103xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w, (%b, %g) transposed : tensor<?x1032xf32>, tensor<4103x1032xbf16>, (tensor<4103xbf16>, tensor<?x4103xf32>) -> tensor<?x4103xf32> {
  ^bb0(%sum: f32, %bias: f32, %gate: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = arith.mulf %0, %gate : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x4103xf32>
}
