func.func @group(%e: tensor<?x2xi32> {attn.name = "e"}) -> (tensor<?xi32> {attn.name = "rows"}, tensor<?x2xi32> {attn.name = "indices"}, tensor<4x2xi32> {attn.name = "groups"}) {
  %r, %i, %g = attn.group_rows %e : tensor<?x2xi32> -> tensor<?xi32>, tensor<?x2xi32>, tensor<4x2xi32>
  return %r, %i, %g : tensor<?xi32>, tensor<?x2xi32>, tensor<4x2xi32>
}
func.func @combine(%x: tensor<?x3xf32> {attn.name = "x"}, %w: tensor<?x2xf32> {attn.name = "w"}, %i: tensor<?x2xi32> {attn.name = "i"}) -> tensor<?x3xf32> {
  %0 = attn.combine_rows %x, %w, %i : tensor<?x3xf32>, tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
