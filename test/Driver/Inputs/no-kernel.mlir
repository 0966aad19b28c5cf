func.func @f(%x: tensor<?x4xf32> {attn.name = "x", attn.dims = ["rows"]}) {
  return
}
