func.func @attention(%q: tensor<?x8x64xf32> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x8x64xf32> {attn.name = "k", attn.dims = ["keys"]}, %v: tensor<?x8x64xf32> {attn.name = "v"}) -> (tensor<?x8x64xf32> {attn.name = "o"}) {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32> -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}
