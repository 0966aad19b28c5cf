// Positions of packed rows; rotation of the leading channels of every head.
func.func @positions(%tokens: tensor<?xi32> {attn.name = "tokens"}, %begin: tensor<?xi32> {attn.name = "begin"}, %past: tensor<?xi32> {attn.name = "past"}) -> tensor<?xi32> {
  %0 = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func @counted(%tokens: tensor<?xi32> {attn.name = "tokens"}, %begin: tensor<?xi32> {attn.name = "begin"}) -> tensor<?xi32> {
  %0 = attn.positions %tokens, %begin padding 1 : tensor<?xi32>, tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func @longer(%p: tensor<?xi32> {attn.name = "p"}, %lengths: tensor<?xi32> {attn.name = "lengths"}) -> tensor<?x2xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.25] beyond 7 of %lengths frequencies [0.5, 0.125] : tensor<?xi32>, tensor<?xi32> -> tensor<?x2xf32>
  return %cos : tensor<?x2xf32>
}
func.func @rope(%x: tensor<?x3x7xf32> {attn.name = "x"}, %p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x3x7xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.25, 0.0625] : tensor<?xi32> -> tensor<?x3xf32>
  %0 = attn.rope %x, %cos, %sin : tensor<?x3x7xf32>, tensor<?x3xf32>
  return %0 : tensor<?x3x7xf32>
}
func.func @rope_interleaved(%x: tensor<?x3x7xf32> {attn.name = "x"}, %p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x3x7xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.25, 0.0625] : tensor<?xi32> -> tensor<?x3xf32>
  %0 = attn.rope %x, %cos, %sin interleaved : tensor<?x3x7xf32>, tensor<?x3xf32>
  return %0 : tensor<?x3x7xf32>
}
func.func @rope_heads(%x: tensor<?x3x7xf32> {attn.name = "x"}, %p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x3x7xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.25, 0.0625] : tensor<?xi32> -> tensor<?x3xf32>
  %0 = attn.rope %x, %cos, %sin heads 2 : tensor<?x3x7xf32>, tensor<?x3xf32>
  return %0 : tensor<?x3x7xf32>
}
func.func @rope_magnitude(%x: tensor<?x3x4xf32> {attn.name = "x"}, %p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x3x4xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.125] {magnitude = 1.25 : f32} : tensor<?xi32> -> tensor<?x2xf32>
  %0 = attn.rope %x, %cos, %sin : tensor<?x3x4xf32>, tensor<?x2xf32>
  return %0 : tensor<?x3x4xf32>
}
func.func @sinusoids(%p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x5xf32> {
  %0 = attn.sinusoids %p frequencies [1.0, 1.0, 0.25, 0.25, 0.0625] : tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @sinusoids_padded(%p: tensor<?xi32> {attn.name = "p"}) -> tensor<?x32xf32> {
  %0 = attn.sinusoids %p frequencies [0.5, 1.0, 0.25] : tensor<?xi32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
