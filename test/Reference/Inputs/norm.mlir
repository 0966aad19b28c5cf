// Norms over all columns, and over the leading ones of padded rows.
func.func @layer(%x: tensor<?x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}, %b: tensor<13xf32> {attn.name = "b"}) -> tensor<?x13xf32> {
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-2 : tensor<?x13xf32>, tensor<13xf32>
  return %0 : tensor<?x13xf32>
}
func.func @layer_columns(%x: tensor<?x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}, %b: tensor<13xf32> {attn.name = "b"}) -> tensor<?x13xf32> {
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 columns 11 : tensor<?x13xf32>, tensor<13xf32>
  return %0 : tensor<?x13xf32>
}
func.func @rms(%x: tensor<?x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}) -> tensor<?x13xf32> {
  %0 = attn.rms_norm %x, %w epsilon 1.0e-2 : tensor<?x13xf32>, tensor<13xf32>
  return %0 : tensor<?x13xf32>
}
func.func @rms_columns(%x: tensor<?x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}) -> tensor<?x13xf32> {
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 columns 7 : tensor<?x13xf32>, tensor<13xf32>
  return %0 : tensor<?x13xf32>
}
func.func @layer_heads(%x: tensor<?x3x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}, %b: tensor<13xf32> {attn.name = "b"}) -> tensor<?x3x13xf32> {
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 columns 11 : tensor<?x3x13xf32>, tensor<13xf32>
  return %0 : tensor<?x3x13xf32>
}
func.func @rms_heads(%x: tensor<2x?x3x13xf32> {attn.name = "x"}, %w: tensor<13xf32> {attn.name = "w"}) -> tensor<2x?x3x13xf32> {
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 columns 7 : tensor<2x?x3x13xf32>, tensor<13xf32>
  return %0 : tensor<2x?x3x13xf32>
}
