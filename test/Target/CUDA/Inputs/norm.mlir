// Norms of a warp, of several warps and of the most elements that a thread block holds, of f32 and of bf16.
attn.dim @rows min 0 max 4096
func.func @layer(%x: tensor<?x1024xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1024xf32> {attn.name = "w"}, %b: tensor<1024xf32> {attn.name = "b"}) -> (tensor<?x1024xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x1024xf32>, tensor<1024xf32>
  return %y : tensor<?x1024xf32>
}
func.func @rms(%x: tensor<?x4096xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<4096xf32> {attn.name = "w"}) -> (tensor<?x4096xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x4096xbf16>, tensor<4096xf32>
  return %y : tensor<?x4096xbf16>
}
func.func @most(%x: tensor<?x16384xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<16384xbf16> {attn.name = "w"}, %b: tensor<16384xbf16> {attn.name = "b"}) -> (tensor<?x16384xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x16384xbf16>, tensor<16384xbf16>
  return %y : tensor<?x16384xbf16>
}
func.func @heads(%x: tensor<?x32x128xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<128xbf16> {attn.name = "w"}) -> (tensor<?x32x128xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x32x128xbf16>, tensor<128xbf16>
  return %y : tensor<?x32x128xbf16>
}
