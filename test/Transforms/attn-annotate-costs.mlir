// RUN: rapt-opt %s --attn-annotate-costs --split-input-file | FileCheck %s

// A matmul: a sum of products of dims; bytes of weights and of activations.
attn.dim @tokens min 1 max 64
attn.parameter @w layers 2 : tensor<2x60x60xf32> from [#attn.source<"h.{layer}.fc.weight">]
// CHECK-LABEL: func.func @forward
// CHECK-SAME: attn.costs = {counts = [], ops = [{
// CHECK-SAME: activations = {{\[\[}}480, "tokens"]], dtype = "f32", first_layer = 0 : i64, flops = {{\[\[}}7200, "tokens"]],
// CHECK-SAME: layer_step = 1 : i64, layers = 2 : i64, name = "h.{layer}.fc", op = "linear", weights = {{\[\[}}14400]]}]}
func.func @forward(%x: tensor<?x60xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x60xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = scf.for %layer = %c0 to %c2 step %c1 iter_args(%state = %x) -> (tensor<?x60xf32>) {
    %w = attn.parameter_slice @w[%layer] : tensor<60x60xf32>
    // CHECK: attn.linear {{.*}} {attn.moves = {{\[\[\[}}240, "tokens"]], [], {{\[\[}}240, "tokens"]]], attn.op = 0 : i64}
    %z = attn.linear %state, %w : tensor<?x60xf32>, tensor<60x60xf32> -> tensor<?x60xf32>
    scf.yield %z : tensor<?x60xf32>
  }
  return %y : tensor<?x60xf32>
}

// -----

// Each matmul has costs of its own, and says which bytes of activations it moves for each operand and result: the target
// decides whether one dispatch computes both (test/Target/CPU/Schedule/attn-cpu-fuse-costs.mlir).
attn.dim @tokens min 1 max 64
attn.parameter @u : tensor<64x64xf32> from [#attn.source<"h.up.weight">]
attn.parameter @g : tensor<64x64xf32> from [#attn.source<"h.gate.weight">]
// CHECK-LABEL: func.func @gated
// CHECK-SAME: ops = [{activations = {{\[\[}}512, "tokens"]], dtype = "f32", flops = {{\[\[}}8192, "tokens"]], name = "h.up", op = "linear", weights = {{\[\[}}16384]]},
// CHECK-SAME: {activations = {{\[\[}}768, "tokens"]], dtype = "f32", flops = {{\[\[}}8192, "tokens"]], name = "h.gate", op = "linear", weights = {{\[\[}}16384]]}]}
func.func @gated(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %u = attn.parameter_slice @u : tensor<64x64xf32>
  %g = attn.parameter_slice @g : tensor<64x64xf32>
  // CHECK: attn.linear {{.*}} {attn.moves = {{\[\[\[}}256, "tokens"]], [], {{\[\[}}256, "tokens"]]], attn.op = 0 : i64}
  %up = attn.linear %x, %u : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear {{.*}} {attn.moves = {{\[\[\[}}256, "tokens"]], [], {{\[\[}}256, "tokens"]], {{\[\[}}256, "tokens"]]], attn.op = 1 : i64}
  %y = attn.linear %x, %g, (%up) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// Attention's work follows from the rows' lengths: it names what counts them. The mask bounds the keys; a mask that is not
// affine would not.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
// CHECK-LABEL: func.func @packed
// CHECK-SAME: counts = [{keys_begin = "row_begin", kind = "pairs", name = "count0", queries = "row_begin", upper = 1 : i64},
// CHECK-SAME: {keys_begin = "row_begin", kind = "keys", name = "count1", queries = "row_begin", upper = 1 : i64}]
// CHECK-SAME: ops = [{activations = {{\[\[}}1024, "count1"], [1024, "tokens"]], dtype = "f32", flops = {{\[\[}}512, "count0"]], op = "attention"}]
func.func @packed(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x4x32xf32> {attn.name = "k", attn.dims = ["tokens"]},
                  %v: tensor<?x4x32xf32> {attn.name = "v", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %v, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#q, #v, #w, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %y : tensor<?x4x32xf32>
}

// -----

// One dense row: queries times keys. Causal counts half of the square and half of the diagonal.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @n min 1 max 64
attn.dim @m min 1 max 64
// CHECK-LABEL: func.func @dense
// CHECK-SAME: flops = {{\[\[}}512, "m", "n"]]
// CHECK-SAME: flops = {{\[\[}}256, "n"], [256, "n", "n"]]
func.func @dense(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x4x32xf32> {attn.name = "k", attn.dims = ["m"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %scale maps [#q, #v, #w, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  %z = attn.attention %q, %y, %y, %scale maps [#q, #v, #w, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %z : tensor<?x4x32xf32>
}

// -----

// Log-sum-exp is moved, and so is one layer of the weights, whose heads' scores are computed again.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @n min 1 max 64
attn.dim @m min 1 max 64
// CHECK-LABEL: func.func @outputs
// CHECK-SAME: ops = [{activations = {{\[\[}}1024, "m"], [1552, "n"]], dtype = "f32", flops = {{\[\[}}640, "m", "n"]], op = "attention"}]
func.func @outputs(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x4x32xf32> {attn.name = "k", attn.dims = ["m"]},
                   %w: tensor<?x7x2x64xf32> {attn.name = "w", attn.dims = ["n"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["n"]}, tensor<?x4xf32> {attn.name = "l", attn.dims = ["n"]},
        tensor<?x7x2x64xf32> {attn.name = "w", attn.dims = ["n"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %layer = arith.constant 6 : index
  %y, %l, %n = attn.attention %q, %k, %k, %scale weights(%w[%layer] heads [0, 3] : tensor<?x7x2x64xf32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %y, %l, %n : tensor<?x4x32xf32>, tensor<?x4xf32>, tensor<?x7x2x64xf32>
}

// -----

// Extents of images are products of dims that are divided; a look-up reads only its rows of the table; what no rule knows
// has no number.
attn.dim @images min 1 max 8
attn.dim @height min 16 max 64
attn.dim @width min 16 max 64
attn.parameter @table : tensor<100x64xf32> from [#attn.source<"table">] {layout = #attn.rows<shape = [100, 64]>, offset = 0, stride = 25600}
// CHECK-LABEL: func.func @look
// CHECK-SAME: ops = [{activations = {{\[\[}}12, "height", "images", "width"], [3072, "height/16", "images", "width/16"]], op = "patches"},
// CHECK-SAME: {activations = {{\[\[}}256, "images"]], name = "table", op = "embedding", weights = {{\[\[}}256, "images"]]}]
func.func @look(%x: tensor<?x3x?x?xf32> {attn.name = "x", attn.dims = ["images", "height", "width"]}, %i: tensor<?xi32> {attn.name = "i", attn.dims = ["images"]})
    -> (tensor<?x768xf32> {attn.name = "y", attn.dims = ["height/16*width/16"]}, tensor<?x64xf32> {attn.name = "z", attn.dims = ["images"]}) attributes {attn.entry} {
  %y = attn.patches %x size 16 : tensor<?x3x?x?xf32> -> tensor<?x768xf32>
  %t = attn.parameter_slice @table : tensor<100x64xf32>
  %z = attn.embedding %i, %t : tensor<?xi32>, tensor<100x64xf32> -> tensor<?x64xf32>
  return %y, %z : tensor<?x768xf32>, tensor<?x64xf32>
}

// -----

// An extent that is divided twice is divided by the product, as the runtime reads it; near miss: a product of more than 9 digits has no number.
attn.dim @height min 16 max 64
// CHECK-LABEL: func.func @twice
// CHECK-SAME: ops = [{activations = {{\[\[}}256], [512, "height/8"]], op = "rms_norm"}, {op = "rms_norm"}]
func.func @twice(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["height"]}, %w: tensor<64xf32> {attn.name = "w"})
    -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["height/8"]}, tensor<?x64xf32>) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 250000000 : index
  %height = tensor.dim %x, %c0 : tensor<?xf32>
  %patches = arith.divui %height, %c4 : index
  %squares = arith.divui %patches, %c2 : index
  %none = arith.divui %patches, %far : index
  %0 = tensor.empty(%squares) : tensor<?x64xf32>
  %1 = tensor.empty(%none) : tensor<?x64xf32>
  %y = attn.rms_norm %0, %w epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32>
  %z = attn.rms_norm %1, %w epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Quantized weights: values of 4 bits, and a scale in bf16 for each of the two groups of a column. A cache stores bf16.
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
attn.parameter @w : tensor<64x60x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w.weight">]
// CHECK-LABEL: func.func @quantized
// CHECK-SAME: {activations = {{.*}} op = "quantize_rows"}
// CHECK-SAME: dtype = "i4", {{.*}}name = "w", op = "linear", weights = {{\[\[}}2160]]}
func.func @quantized(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x60xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @w : tensor<64x60x!attn.quantized<u4 group 32 axis 0>>
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x60x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x60xf32>
  return %y : tensor<?x60xf32>
}

// -----

// A cache of keys in bf16 and of longer values in f32: 2 heads x (8 x 2 + 16 x 4) bytes of a position, written and read.
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
attn.dim @blocks min 1 max 8
attn.dim @most min 1 max 8
!cache = !attn.kv_cache<[3 x 1 x 4 x i8, 2 x 2 x (8 x bf16, 16 x f32)], block = 64>
// CHECK-LABEL: func.func @cached
// CHECK-SAME: {activations = {{.*}}cache = {{\[\[}}160, "tokens"]]{{.*}}op = "kv_append"}
// CHECK-SAME: {activations = {{.*}}cache = {{\[\[}}160, "count1"]], dtype = "f32", {{.*}}op = "attention"}
func.func @cached(%cache: !cache {attn.name = "cache", attn.dims = ["blocks"]}, %k: tensor<?x2x8xf32> {attn.name = "k", attn.dims = ["tokens"]},
                  %v: tensor<?x2x16xf32> {attn.name = "v", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]},
                  %past: tensor<?xi32> {attn.name = "past", attn.dims = ["rows"]}, %table: tensor<?x?xi32> {attn.name = "table", attn.dims = ["rows", "most"]})
    -> (!cache {attn.name = "cache"}, tensor<?x2x16xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0.5 : f32
  %new = attn.kv_append %cache[%c0] segment 1, %k, %v rows(%begin, %past, %table)
    : !cache, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%c0] segment 1, %table : !cache, tensor<?x?xi32> -> tensor<?x?x2x8xbf16>, tensor<?x?x2x16xf32>
  %o = attn.attention %k, %keys, %values, %s q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>)
    maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, c)>,
          affine_map<(b, h, g, i, j, c, d) -> (b, j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x2x8xf32>, tensor<?x?x2x8xbf16>, tensor<?x?x2x16xf32> -> tensor<?x2x16xf32>
  return %new, %o : !cache, tensor<?x2x16xf32>
}
