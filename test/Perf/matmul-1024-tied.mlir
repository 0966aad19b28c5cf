// A matmul of bf16 with a weight [n, k], as checkpoints and tied embeddings have it.
module attributes {attn.stage = "imported"} {
attn.dim @rows min 0 max 65536
func.func @matmul(%x: tensor<?x1024xbf16> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1024x1024xbf16> {attn.name = "w"}) -> (tensor<?x1024xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.linear %x, %w transposed : tensor<?x1024xbf16>, tensor<1024x1024xbf16> -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}
}
