func.func @self_attention(%qkv: tensor<?x384xf32> {attn.name = "qkv", attn.dims = ["tokens"]}) -> (tensor<?x128xf32> {attn.name = "o"}) {
  %o = demo.self_attention %qkv heads 2 : tensor<?x384xf32> -> tensor<?x128xf32>
  return %o : tensor<?x128xf32>
}
