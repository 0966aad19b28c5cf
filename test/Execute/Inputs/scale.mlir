func.func @scale(%x: tensor<?x16xf32> {attn.name = "x", attn.dims = ["rows"]}, %y: tensor<?x16xf32> {attn.name = "y"}) -> (tensor<?x16xf32> {attn.name = "result"}) {
  %0 = arith.mulf %x, %y : tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
