// One vector for a row, in every way.
func.func @first(%x: tensor<?x5xf32> {attn.name = "x"}, %row_begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x5xf32> {
  %0 = attn.pool_rows first %x, %row_begin : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @last(%x: tensor<?x5xf32> {attn.name = "x"}, %row_begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x5xf32> {
  %0 = attn.pool_rows last %x, %row_begin : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @mean(%x: tensor<?x5xf32> {attn.name = "x"}, %row_begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x5xf32> {
  %0 = attn.pool_rows mean %x, %row_begin : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @skip(%x: tensor<?x5xf32> {attn.name = "x"}, %row_begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x5xf32> {
  %0 = attn.pool_rows mean %x, %row_begin skip 1 : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @max(%x: tensor<?x5xf32> {attn.name = "x"}, %row_begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x5xf32> {
  %0 = attn.pool_rows max %x, %row_begin : tensor<?x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
