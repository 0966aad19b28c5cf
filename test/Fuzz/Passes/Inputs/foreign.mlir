// Every op is valid, and no stage has the types: passes report them, and run on what is left where mutants lack the rest.
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @tokens min 0 max 16
func.func @complex(%z: tensor<?x20xcomplex<f32>> {attn.name = "z", attn.dims = ["tokens"]}) -> (tensor<?x20xcomplex<f32>> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %z, %c0 : tensor<?x20xcomplex<f32>>
  %e = tensor.empty(%m) : tensor<?x20xcomplex<f32>>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%a = %e) -> (tensor<?x20xcomplex<f32>>) {
    scf.yield %a : tensor<?x20xcomplex<f32>>
  }
  return %r : tensor<?x20xcomplex<f32>>
}
func.func @state(%z: tensor<?x20xcomplex<f32>> {attn.name = "z", attn.dims = ["tokens"]}) -> (tensor<?x20xcomplex<f32>> {attn.name = "z", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %z, %c0 : tensor<?x20xcomplex<f32>>
  %e = tensor.empty(%m) : tensor<?x20xcomplex<f32>>
  return %e : tensor<?x20xcomplex<f32>>
}
func.func @wide(%x: tensor<?x20xf64> {attn.name = "x", attn.dims = ["tokens"]}) -> (tensor<?x20xf64> {attn.name = "x", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %0 = arith.addf %x, %x : tensor<?x20xf64>
  %1 = math.exp %0 : tensor<?x20xf64>
  return %1 : tensor<?x20xf64>
}
func.func @small(%x: tensor<?x20xf8E4M3FN> {attn.name = "x", attn.dims = ["tokens"]}) -> (tensor<?x20xf8E4M3FN> {attn.name = "x", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %0 = arith.addf %x, %x : tensor<?x20xf8E4M3FN>
  return %0 : tensor<?x20xf8E4M3FN>
}
func.func @large(%x: tensor<?x20xi128> {attn.name = "x", attn.dims = ["tokens"]}) -> (tensor<?x20xi128> {attn.name = "x", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %0 = arith.addi %x, %x : tensor<?x20xi128>
  return %0 : tensor<?x20xi128>
}
func.func @lanes(%x: tensor<?xvector<8xf32>> {attn.name = "x", attn.dims = ["tokens"]}, %y: vector<8xf32>) -> (tensor<?xvector<8xf32>> {attn.name = "x", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xvector<8xf32>>
  %e = tensor.empty(%m) : tensor<?xvector<8xf32>>
  return %e : tensor<?xvector<8xf32>>
}
}
