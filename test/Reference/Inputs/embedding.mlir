// Looks ids up in tables of two types and two forms, and selects rows.
func.func @embed(%ids: tensor<?xi32> {attn.name = "ids"}, %table: tensor<11x7xf32> {attn.name = "table"}) -> tensor<?x7xf32> {
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<11x7xf32> -> tensor<?x7xf32>
  return %0 : tensor<?x7xf32>
}
func.func @embed_bf16(%ids: tensor<?xi32> {attn.name = "ids"}, %table: tensor<11x7xbf16> {attn.name = "table"}) -> tensor<?x7xf32> {
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<11x7xbf16> -> tensor<?x7xf32>
  return %0 : tensor<?x7xf32>
}
func.func @embed_panels(%ids: tensor<?xi32> {attn.name = "ids"}, %table: tensor<2x7x32xf32> {attn.name = "table"}) -> tensor<?x32xf32> {
  %0 = attn.embedding %ids, %table {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<2x7x32xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
func.func @select(%x: tensor<?x5xf32> {attn.name = "x"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> tensor<?x5xf32> {
  %0 = attn.select_rows %x, %rows : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @add(%x: tensor<?x5xf32> {attn.name = "x"}, %v: tensor<?x5xf32> {attn.name = "v"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %0 = attn.write_rows add %x, %v, %rows : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  return %0, %x : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @add_layer(%x: tensor<?x5xf32> {attn.name = "x"}, %v: tensor<?x3x5xf32> {attn.name = "v"}, %layer: index {attn.name = "layer"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> tensor<?x5xf32> {
  %0 = attn.write_rows add %x, %v[%layer], %rows : tensor<?x5xf32>, tensor<?x3x5xf32>, tensor<?xi32>
  return %0 : tensor<?x5xf32>
}
func.func @set(%x: tensor<?x5xf32> {attn.name = "x"}, %v: tensor<?x5xf32> {attn.name = "v"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> tensor<?x5xf32> {
  %0 = attn.write_rows set %x, %v, %rows : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  return %0 : tensor<?x5xf32>
}
func.func @huge(%ids: tensor<?xi32> {attn.name = "ids"}) -> tensor<?x10000000000000xf32> {
  %0 = tensor.empty() : tensor<0x10000000000000xf32>
  %1 = attn.embedding %ids, %0 : tensor<?xi32>, tensor<0x10000000000000xf32> -> tensor<?x10000000000000xf32>
  return %1 : tensor<?x10000000000000xf32>
}
func.func @column(%x: tensor<?x5xf32> {attn.name = "x"}) -> tensor<?xf32> {
  %0 = attn.column %x[3] : tensor<?x5xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @scaled(%ids: tensor<?xi32> {attn.name = "ids"}, %table: tensor<11x7xf32> {attn.name = "table"}) -> tensor<?x7xf32> {
  %0 = attn.embedding %ids, %table scale 2.5 : tensor<?xi32>, tensor<11x7xf32> -> tensor<?x7xf32>
  return %0 : tensor<?x7xf32>
}
