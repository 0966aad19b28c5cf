// Ops of linalg, tensor, arith and math on tensors, as the imported stage may have them beside attn.
func.func @matmul(%x: tensor<?x?xf32> {attn.name = "x"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (tensor<?x?xf32> {attn.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %w, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%zeros : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
// The sum of each row, and of each row's elements times their numbers.
func.func @reduce(%x: tensor<?x?xf32> {attn.name = "x"}) -> (tensor<?xf32> {attn.name = "sum"}, tensor<?xf32> {attn.name = "weighted"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %zeros = tensor.splat %zero[%m] : tensor<?xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x?xf32>) outs(%zeros, %zeros : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%e: f32, %s: f32, %w: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %f = arith.sitofp %k : i64 to f32
    %p = arith.mulf %e, %f : f32
    %t = arith.addf %s, %e : f32
    %u = arith.addf %w, %p : f32
    linalg.yield %t, %u : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}
// A row beside the transpose: a constant result of a map, an operand that is a scalar.
func.func @maps(%x: tensor<?x?xf32> {attn.name = "x"}, %row: tensor<1x?xf32> {attn.name = "row"}, %s: f32 {attn.name = "s"}) -> (tensor<?x?xf32> {attn.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%n, %m) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %row, %s : tensor<?x?xf32>, tensor<1x?xf32>, f32) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%e: f32, %r: f32, %t: f32, %old: f32):
    %p = arith.mulf %e, %t : f32
    %q = arith.addf %p, %r : f32
    linalg.yield %q : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
// max(x, 0) by a comparison, its exponential, and what bf16 holds of it.
func.func @elementwise(%x: tensor<?x3xf32> {attn.name = "x"}) -> (tensor<?x3xf32> {attn.name = "y"}, tensor<?x3xbf16> {attn.name = "rounded"}, tensor<?x3xi32> {attn.name = "whole"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x3xf32>
  %zeros = tensor.splat %zero[%m] : tensor<?x3xf32>
  %above = arith.cmpf ogt, %x, %zeros : tensor<?x3xf32>
  %positive = arith.select %above, %x, %zeros : tensor<?x3xi1>, tensor<?x3xf32>
  %y = math.exp %positive : tensor<?x3xf32>
  %rounded = arith.truncf %y : tensor<?x3xf32> to tensor<?x3xbf16>
  %whole = arith.fptosi %y : tensor<?x3xf32> to tensor<?x3xi32>
  return %y, %rounded, %whole : tensor<?x3xf32>, tensor<?x3xbf16>, tensor<?x3xi32>
}
func.func @shapes(%x: tensor<?x6xf32> {attn.name = "x"}, %first: index {attn.name = "first"})
    -> (tensor<?x2x3xf32> {attn.name = "expanded"}, tensor<?xf32> {attn.name = "flat"}, tensor<?x9xf32> {attn.name = "padded"}, tensor<?x12xf32> {attn.name = "joined"}, f32 {attn.name = "element"}) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x6xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2]] output_shape [%m, 2, 3] : tensor<?x6xf32> into tensor<?x2x3xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
  %padded = tensor.pad %x low[%first, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<?x6xf32> to tensor<?x9xf32>
  %joined = tensor.concat dim(1) %x, %x : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x12xf32>
  %element = tensor.extract %x[%first, %c5] : tensor<?x6xf32>
  return %expanded, %flat, %padded, %joined, %element : tensor<?x2x3xf32>, tensor<?xf32>, tensor<?x9xf32>, tensor<?x12xf32>, f32
}
func.func @constants() -> (tensor<3xi32> {attn.name = "numbers"}, tensor<2xf32> {attn.name = "floats"}, tensor<?xi32> {attn.name = "cast"}) {
  %numbers = arith.constant dense<[3, -1, 2147483647]> : tensor<3xi32>
  %floats = arith.constant dense<0.5> : tensor<2xf32>
  %cast = tensor.cast %numbers : tensor<3xi32> to tensor<?xi32>
  return %numbers, %floats, %cast : tensor<3xi32>, tensor<2xf32>, tensor<?xi32>
}
func.func @different(%x: tensor<?x6xf32> {attn.name = "x"}, %y: tensor<?x6xf32> {attn.name = "y"}) -> (tensor<?x6xf32> {attn.name = "z"}) {
  %z = arith.addf %x, %y : tensor<?x6xf32>
  return %z : tensor<?x6xf32>
}
func.func @joined(%x: tensor<?x6xf32> {attn.name = "x"}, %y: tensor<?x6xf32> {attn.name = "y"}) -> (tensor<?x12xf32> {attn.name = "z"}) {
  %z = tensor.concat dim(1) %x, %y : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x12xf32>
  return %z : tensor<?x12xf32>
}
func.func @beyond(%x: tensor<?x?xf32> {attn.name = "x"}, %y: tensor<?x?xf32> {attn.name = "y"}) -> (tensor<?x?xf32> {attn.name = "z"}) {
  %z = linalg.add ins(%x, %x : tensor<?x?xf32>, tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
func.func @split(%x: tensor<?x6xf32> {attn.name = "x"}, %n: index {attn.name = "n"}) -> (tensor<?x?x6xf32> {attn.name = "y"}) {
  %y = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, %n, 6] : tensor<?x6xf32> into tensor<?x?x6xf32>
  return %y : tensor<?x?x6xf32>
}
func.func @numbered(%x: tensor<?x6xf32> {attn.name = "x"}) -> (tensor<?x7xf32> {attn.name = "y"}) {
  %y = tensor.pad %x low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    tensor.yield %f : f32
  } : tensor<?x6xf32> to tensor<?x7xf32>
  return %y : tensor<?x7xf32>
}
// Points of a space that no operand fills: (i, j, k) of two rows.
func.func @points(%x: tensor<?xf32> {attn.name = "x"}) -> (tensor<f32> {attn.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> ()>],
                       iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%x, %x, %x : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%zeros : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
// Loops in a region: pairs (a, b) become (b, a + b) as many times as n says, plus the sum of the first elements of each row of a triangle.
func.func @loops(%n: tensor<?xi32> {attn.name = "n"}, %x: tensor<?xi32> {attn.name = "x"}) -> (tensor<?xi32> {attn.name = "pairs"}, tensor<?xi32> {attn.name = "sums"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %n, %c0 : tensor<?xi32>
  %empty = tensor.empty(%m) : tensor<?xi32>
  %pairs, %sums = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%n : tensor<?xi32>) outs(%empty, %empty : tensor<?xi32>, tensor<?xi32>) {
  ^bb0(%count: i32, %old: i32, %older: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %end = arith.index_cast %count : i32 to index
    %a, %b = scf.for %i = %c0 to %end step %c1 iter_args(%first = %zero, %second = %one) -> (i32, i32) {
      %sum = arith.addi %first, %second : i32
      scf.yield %second, %sum : i32, i32
    }
    %sum = scf.for %i = %c0 to %end step %c2 iter_args(%so_far = %zero) -> (i32) {
      %row = scf.for %j = %c0 to %i step %c1 iter_args(%inner = %so_far) -> (i32) {
        %v = tensor.extract %x[%j] : tensor<?xi32>
        %s = arith.addi %inner, %v : i32
        scf.yield %s : i32
      }
      scf.yield %row : i32
    }
    linalg.yield %a, %sum : i32, i32
  } -> (tensor<?xi32>, tensor<?xi32>)
  return %pairs, %sums : tensor<?xi32>, tensor<?xi32>
}
