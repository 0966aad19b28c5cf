// The gated delta rule in bf16 and f32, state-space duality with two outputs of a state and a ragged slice, 256 key channels, and a decay for each key channel.
attn.dim @tokens min 0 max 65536
attn.dim @rows min 0 max 1024
func.func @delta_bf16(%q: tensor<?x2x128xbf16> {attn.name = "q", attn.dims = ["tokens"]}, %v: tensor<?x4x128xbf16> {attn.name = "v", attn.dims = ["tokens"]}, %g: tensor<?x4xf32> {attn.name = "g", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x128xbf16> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x4xf32>) beta(%g : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x128x128xf32>) : tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?xi32>
  return %y, %new : tensor<?x4x128xbf16>, tensor<?x4x128x128xf32>
}
func.func @delta_f32(%q: tensor<?x2x128xf32> {attn.name = "q", attn.dims = ["tokens"]}, %v: tensor<?x4x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %g: tensor<?x4xf32> {attn.name = "g", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x128xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x4xf32>) beta(%g : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x128x128xf32>) : tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?x4x128xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x128xf32>, tensor<?x4x128x128xf32>
}
func.func @duality(%c: tensor<?x2x64xbf16> {attn.name = "c", attn.dims = ["tokens"]}, %b: tensor<?x1x64xbf16> {attn.name = "b", attn.dims = ["tokens"]}, %x: tensor<?x1x40xbf16> {attn.name = "x", attn.dims = ["tokens"]}, %g: tensor<?x1xf32> {attn.name = "g", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}) -> (tensor<?x2x40xbf16> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %y = attn.linear_attention gated %c, %b, %x decay(%g : tensor<?x1xf32>) rows(%begin) : tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x40xbf16>, tensor<?xi32>
  return %y : tensor<?x2x40xbf16>
}
func.func @wide(%q: tensor<?x1x256xbf16> {attn.name = "q", attn.dims = ["tokens"]}, %v: tensor<?x1x128xbf16> {attn.name = "v", attn.dims = ["tokens"]}, %g: tensor<?x1xf32> {attn.name = "g", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}) -> (tensor<?x1x128xbf16> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %y = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x1xf32>) beta(%g : tensor<?x1xf32>) rows(%begin) : tensor<?x1x256xbf16>, tensor<?x1x256xbf16>, tensor<?x1x128xbf16>, tensor<?xi32>
  return %y : tensor<?x1x128xbf16>
}
func.func @channels(%q: tensor<?x2x128xf32> {attn.name = "q", attn.dims = ["tokens"]}, %v: tensor<?x2x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %g: tensor<?x2x128xf32> {attn.name = "g", attn.dims = ["tokens"]}, %beta: tensor<?x2xf32> {attn.name = "beta", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}) -> (tensor<?x2x128xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %y = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x2x128xf32>) beta(%beta : tensor<?x2xf32>) rows(%begin) : tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?xi32>
  return %y : tensor<?x2x128xf32>
}
