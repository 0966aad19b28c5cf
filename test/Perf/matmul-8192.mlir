// A matmul of bf16 with a weight [k, n].
module attributes {attn.stage = "imported"} {
attn.dim @rows min 0 max 65536
func.func @matmul(%x: tensor<?x8192xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<8192x8192xbf16> {attn.name = "w"}) -> (tensor<?x8192xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w : tensor<?x8192xbf16>, tensor<8192x8192xbf16> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
}
