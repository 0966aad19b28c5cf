// Matmuls and attention whose rows, columns and channels fill no tile.
func.func @one(%x: tensor<?x1xf32>, %w: tensor<1x1xf32>) -> tensor<?x1xf32> {
  %0 = attn.linear %x, %w : tensor<?x1xf32>, tensor<1x1xf32> -> tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}
func.func @ragged(%x: tensor<?x33xf32>, %w: tensor<33x65xf32>) -> tensor<?x65xf32> {
  %0 = attn.linear %x, %w : tensor<?x33xf32>, tensor<33x65xf32> -> tensor<?x65xf32>
  return %0 : tensor<?x65xf32>
}
func.func @causal(%q: tensor<?x2x40xf32> {attn.dims = ["rows"]}, %k: tensor<?x2x40xf32> {attn.dims = ["rows"]},
                  %v: tensor<?x2x40xf32> {attn.dims = ["rows"]}) -> tensor<?x2x40xf32> {
  %scale = arith.constant 0.125 : f32
  %0 = attn.attention %q, %k, %v, %scale
    maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>,
          affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x2x40xf32>, tensor<?x2x40xf32>, tensor<?x2x40xf32> -> tensor<?x2x40xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %0 : tensor<?x2x40xf32>
}
