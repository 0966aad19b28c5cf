// A matmul whose kernels are small.
func.func @linear(%x: tensor<?x16xf32> {attn.name = "x"}, %w: tensor<16x16xf32> {attn.name = "w"}) -> (tensor<?x16xf32> {attn.name = "y"}) {
  %0 = attn.linear %x, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
