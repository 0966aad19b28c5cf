// Gated delta rule of Qwen3-Next's layers: 16 heads of keys, 32 of values, 128 channels.
module attributes {attn.stage = "imported"} {
attn.dim @tokens min 0 max 65536
attn.dim @rows min 0 max 1024
func.func @linear_attention(%q: tensor<?x16x128xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x16x128xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x32x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %decay: tensor<?x32xf32> {attn.name = "decay", attn.dims = ["tokens"]}, %beta: tensor<?x32xf32> {attn.name = "beta", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x32x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x32x128xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x32x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated_delta %q, %k, %v decay(%decay : tensor<?x32xf32>) beta(%beta : tensor<?x32xf32>) rows(%begin) state(%state : tensor<?x32x128x128xf32>) scale 0.08838834764831845 : tensor<?x16x128xf32>, tensor<?x16x128xf32>, tensor<?x32x128xf32>, tensor<?xi32>
  return %y, %new : tensor<?x32x128xf32>, tensor<?x32x128x128xf32>
}
}
