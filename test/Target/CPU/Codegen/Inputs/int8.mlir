module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @rows min 0 max 65536
attn.parameter @w : tensor<768x768xf32> from [#attn.source<"w">]
func.func @matmul(%x: tensor<?x768xf32> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x768xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @w : tensor<768x768xf32>
  %y = attn.linear %x, %w : tensor<?x768xf32>, tensor<768x768xf32> -> tensor<?x768xf32>
  return %y : tensor<?x768xf32>
}
}
