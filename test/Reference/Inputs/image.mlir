// Images as rows of tokens.
func.func @cut(%pixels: tensor<?x3x?x?xf32> {attn.name = "pixels"}) -> tensor<?x12xf32> {
  %0 = attn.patches %pixels size 2 : tensor<?x3x?x?xf32> -> tensor<?x12xf32>
  return %0 : tensor<?x12xf32>
}
func.func @resize(%table: tensor<14x5xf32> {attn.name = "table"}, %h: index {attn.name = "h"}, %w: index {attn.name = "w"}) -> tensor<?x5xf32> {
  %0 = attn.resize_positions %table, %h, %w grid [3, 4] : tensor<14x5xf32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @tokens(%patches: tensor<?x5xf32> {attn.name = "patches"}, %learned: tensor<2x5xf32> {attn.name = "learned"}, %positions: tensor<?x5xf32> {attn.name = "positions"}) -> tensor<?x5xf32> {
  %0 = attn.image_tokens %patches, %learned, %positions : tensor<?x5xf32>, tensor<2x5xf32>, tensor<?x5xf32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @offsets(%rows: index {attn.name = "rows"}, %length: index {attn.name = "length"}) -> tensor<?xi32> {
  %0 = attn.equal_rows %rows, %length : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func @unpack(%x: tensor<?x5xf32> {attn.name = "x"}, %length: index {attn.name = "length"}) -> tensor<?x?x5xf32> {
  %0 = attn.unpack_rows %x, %length : tensor<?x5xf32> -> tensor<?x?x5xf32>
  return %0 : tensor<?x?x5xf32>
}
func.func @unpack_weights(%x: tensor<?x2x5xf32> {attn.name = "x"}, %length: index {attn.name = "length"}) -> tensor<?x?x2x5xf32> {
  %0 = attn.unpack_rows %x, %length : tensor<?x2x5xf32> -> tensor<?x?x2x5xf32>
  return %0 : tensor<?x?x2x5xf32>
}
