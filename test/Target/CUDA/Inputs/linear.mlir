// Matmuls whose kernels have all tiles: of few rows, of the common size, and of many rows. Their epilogues read every kind of operand.
attn.dim @rows min 0 max 4096
func.func @sums(%x: tensor<?x4096xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<4096x4096xbf16> {attn.name = "w"}) -> (tensor<?x4096xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w : tensor<?x4096xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @residual(%x: tensor<?x512xf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<2048x512xf16> {attn.name = "w"}, %r: tensor<?x2048xf16> {attn.name = "r", attn.dims = ["rows"]}) -> (tensor<?x2048xf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w, (%r) transposed : tensor<?x512xf16>, tensor<2048x512xf16>, (tensor<?x2048xf16>) -> tensor<?x2048xf16> {
  ^bb0(%sum: f32, %residual: f32):
    %0 = arith.addf %sum, %residual : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x2048xf16>
}
func.func @gelu(%x: tensor<?x768xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<768x3072xbf16> {attn.name = "w"}, %b: tensor<3072xf32> {attn.name = "b"}) -> (tensor<?x3072xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %x, %w, (%b) : tensor<?x768xbf16>, tensor<768x3072xbf16>, (tensor<3072xf32>) -> tensor<?x3072xbf16> {
  ^bb0(%sum: f32, %bias: f32):
    %1 = arith.addf %sum, %bias : f32
    attn.yield %1 : f32
  }
  %y = attn.activation gelu %0 : tensor<?x3072xbf16>
  return %y : tensor<?x3072xbf16>
}
func.func @odd(%x: tensor<?x1032xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1032x4104xbf16> {attn.name = "w"}, %b: tensor<4104xbf16> {attn.name = "b"}, %r: tensor<?x4104xbf16> {attn.name = "r", attn.dims = ["rows"]}, %g: tensor<?x4104xf32> {attn.name = "g", attn.dims = ["rows"]})
    -> (tensor<?x4104xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w, (%b, %r, %g) : tensor<?x1032xbf16>, tensor<1032x4104xbf16>, (tensor<4104xbf16>, tensor<?x4104xbf16>, tensor<?x4104xf32>) -> tensor<?x4104xf32> {
  ^bb0(%sum: f32, %bias: f32, %residual: f32, %gate: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = math.exp %0 : f32
    %2 = arith.mulf %1, %gate : f32
    %3 = arith.addf %2, %residual : f32
    attn.yield %3 : f32
  }
  return %y : tensor<?x4104xf32>
}
func.func @tied(%x: tensor<?x1032xf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<4097x1032xf16> {attn.name = "w"}, %b: tensor<4097xf16> {attn.name = "b"}, %g: tensor<?x4097xf16> {attn.name = "g", attn.dims = ["rows"]})
    -> (tensor<?x4097xf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w, (%b, %g) transposed : tensor<?x1032xf16>, tensor<4097x1032xf16>, (tensor<4097xf16>, tensor<?x4097xf16>) -> tensor<?x4097xf16> {
  ^bb0(%sum: f32, %bias: f32, %gate: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = math.tanh %0 : f32
    %2 = arith.mulf %1, %gate : f32
    attn.yield %2 : f32
  }
  return %y : tensor<?x4097xf16>
}
func.func @rotated(%x: tensor<?x2048xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<2048x2560xbf16> {attn.name = "w"}, %c: tensor<?x64xbf16> {attn.name = "c", attn.dims = ["rows"]}, %s: tensor<?x64xbf16> {attn.name = "s", attn.dims = ["rows"]})
    -> (tensor<?x20x128xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %x, %w : tensor<?x2048xbf16>, tensor<2048x2560xbf16> -> tensor<?x2560xbf16>
  %1 = attn.split_heads %0 : tensor<?x2560xbf16> -> tensor<?x20x128xbf16>
  %y = attn.rope %1, %c, %s interleaved heads 18 : tensor<?x20x128xbf16>, tensor<?x64xbf16>
  return %y : tensor<?x20x128xbf16>
}
