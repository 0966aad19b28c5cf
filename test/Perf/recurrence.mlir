module attributes {attn.stage = "imported"} {
attn.dim @tokens min 0 max 65536
attn.dim @rows min 0 max 65536
func.func @recurrence(%x: tensor<?x2048xf32> {attn.name = "x", attn.dims = ["tokens"]}, %w: tensor<64x512x32xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %h: tensor<?x512xf32> {attn.name = "h", attn.dims = ["rows"]}, %c: tensor<?x512xf32> {attn.name = "c", attn.dims = ["rows"]}) -> (tensor<?x512xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x512xf32> {attn.name = "hn", attn.dims = ["rows"]}, tensor<?x512xf32> {attn.name = "cn", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %s:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %c) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<64x512x32xf32>, tensor<?xi32>, tensor<?x512xf32>, tensor<?x512xf32>
  return %y, %s#0, %s#1 : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32>
}
}
