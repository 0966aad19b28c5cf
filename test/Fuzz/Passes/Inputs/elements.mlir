attn.dim @rows min 0 max 1024
func.func @places(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["rows"]}, %ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["rows"]})
    -> (tensor<?x20xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %x, %c0 : tensor<?x20xf32>
  %short = arith.trunci %ids : tensor<?xi32> to tensor<?xi24>
  %odd = arith.trunci %ids : tensor<?xi32> to tensor<?xi1>
  %i = arith.index_cast %ids : tensor<?xi32> to tensor<?xindex>
  %at = scf.for %n = %c0 to %c3 step %c1 iter_args(%a = %i) -> (tensor<?xindex>) {
    %s = arith.addi %a, %i : tensor<?xindex>
    scf.yield %s : tensor<?xindex>
  }
  %e = tensor.empty(%m) : tensor<?x20xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%at, %short, %odd : tensor<?xindex>, tensor<?xi24>, tensor<?xi1>) outs(%e : tensor<?x20xf32>) {
  ^bb0(%a: index, %t: i24, %o: i1, %old: f32):
    %j = linalg.index 1 : index
    %b = arith.index_cast %t : i24 to index
    %sum = arith.select %o, %a, %b : index
    %place = arith.remui %sum, %m : index
    %v = tensor.extract %x[%place, %j] : tensor<?x20xf32>
    linalg.yield %v : f32
  } -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}
