module attributes {attn.stage = "imported"} {
attn.dim @rows min 0 max 65536
func.func @matmul(%x: tensor<?x768xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<24x768x32xf32> {attn.name = "w"}) -> (tensor<?x768xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x768xf32>, tensor<24x768x32xf32> -> tensor<?x768xf32>
  return %y : tensor<?x768xf32>
}
}
