// Every kind of linear attention, with decays by head and by channel, heads shared in both directions, states in slots and of a layer.
func.func @linear(%q: tensor<?x6x5xf32> {attn.name = "q"}, %k: tensor<?x1x5xf32> {attn.name = "k"}, %v: tensor<?x3x4xf32> {attn.name = "v"}, %begin: tensor<?xi32> {attn.name = "begin"}) -> (tensor<?x6x4xf32>) {
  %y = attn.linear_attention linear %q, %k, %v rows(%begin) scale 0.5
    : tensor<?x6x5xf32>, tensor<?x1x5xf32>, tensor<?x3x4xf32>, tensor<?xi32>
  return %y : tensor<?x6x4xf32>
}
func.func @gated(%q: tensor<?x2x5xf32> {attn.name = "q"}, %k: tensor<?x2x5xf32> {attn.name = "k"}, %v: tensor<?x2x3xf32> {attn.name = "v"}, %decay: tensor<?x2xf32> {attn.name = "decay"}, %begin: tensor<?xi32> {attn.name = "begin"}, %state: tensor<?x2x5x3xf32> {attn.name = "state"}) -> (tensor<?x2x3xf32>, tensor<?x2x5x3xf32>) {
  %y, %new = attn.linear_attention gated %q, %k, %v decay(%decay : tensor<?x2xf32>) rows(%begin) state(%state : tensor<?x2x5x3xf32>)
    : tensor<?x2x5xf32>, tensor<?x2x5xf32>, tensor<?x2x3xf32>, tensor<?xi32>
  return %y, %new : tensor<?x2x3xf32>, tensor<?x2x5x3xf32>
}
func.func @delta(%q: tensor<?x2x4xf32> {attn.name = "q"}, %k: tensor<?x2x4xf32> {attn.name = "k"}, %v: tensor<?x4x6xf32> {attn.name = "v"}, %beta: tensor<?x4xf32> {attn.name = "beta"}, %begin: tensor<?xi32> {attn.name = "begin"}, %state: tensor<?x4x4x6xf32> {attn.name = "state"}, %from: tensor<?xi32> {attn.name = "from"}, %to: tensor<?xi32> {attn.name = "to"}) -> (tensor<?x4x6xf32>, tensor<?x4x4x6xf32>) {
  %y, %new = attn.linear_attention delta %q, %k, %v beta(%beta : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x4x6xf32>) slots(%from : tensor<?xi32>, %to : tensor<?xi32>) pairing remainder
    : tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x4x6xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x6xf32>, tensor<?x4x4x6xf32>
}
func.func @gated_delta(%q: tensor<?x1x3xf32> {attn.name = "q"}, %k: tensor<?x2x3xf32> {attn.name = "k"}, %v: tensor<?x1x2xf32> {attn.name = "v"}, %decay: tensor<?x2x3xf32> {attn.name = "decay"}, %beta: tensor<?x2xf32> {attn.name = "beta"}, %begin: tensor<?xi32> {attn.name = "begin"}, %state: tensor<?x2x2x3x2xf32> {attn.name = "state"}, %layer: index {attn.name = "layer"}, %from: tensor<?xi32> {attn.name = "from"}, %to: tensor<?xi32> {attn.name = "to"}) -> (tensor<?x2x2xf32>, tensor<?x2x2x3x2xf32>) {
  %y, %new = attn.linear_attention gated_delta %q, %k, %v decay(%decay : tensor<?x2x3xf32>) beta(%beta : tensor<?x2xf32>) rows(%begin) state(%state : tensor<?x2x2x3x2xf32>) layer(%layer) slots(%from : tensor<?xi32>, %to : tensor<?xi32>)
    : tensor<?x1x3xf32>, tensor<?x2x3xf32>, tensor<?x1x2xf32>, tensor<?xi32>
  return %y, %new : tensor<?x2x2xf32>, tensor<?x2x2x3x2xf32>
}
// Short convolutions: without a state, with one in slots, and of a layer with dilation.
func.func @conv(%x: tensor<?x3xf32> {attn.name = "x"}, %w: tensor<4x3xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}) -> tensor<?x3xf32> {
  %0 = attn.short_conv %x, %w activation silu rows(%begin) : tensor<?x3xf32>, tensor<4x3xf32>, tensor<?xi32>
  return %0 : tensor<?x3xf32>
}
func.func @conv_layer(%x: tensor<?x3xf32> {attn.name = "x"}, %w: tensor<3x3xf32> {attn.name = "w"}, %b: tensor<3xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %state: tensor<?x2x4x3xf32> {attn.name = "state"}, %layer: index {attn.name = "layer"}, %from: tensor<?xi32> {attn.name = "from"}, %to: tensor<?xi32> {attn.name = "to"}) -> (tensor<?x3xf32>, tensor<?x2x4x3xf32>) {
  %0, %1 = attn.short_conv %x, %w bias(%b : tensor<3xf32>) dilation 2 rows(%begin) state(%state : tensor<?x2x4x3xf32>) layer(%layer) slots(%from : tensor<?xi32>, %to : tensor<?xi32>)
    : tensor<?x3xf32>, tensor<3x3xf32>, tensor<?xi32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x2x4x3xf32>
}
