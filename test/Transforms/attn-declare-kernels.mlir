// RUN: rapt-opt %s --attn-declare-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Extents that the op forces to be equal are one dim; one without a name gets the next free one.
// CHECK: attn.dim @dim0 min 0 max 2147483647
// CHECK: func.func @add(%{{.*}}: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "arg0"}, %{{.*}}: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "y"})
// CHECK-SAME: -> (tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "out"}) attributes {attn.entry}
func.func @add(%x: tensor<?x64xf32>, %y: tensor<?x64xf32> {attn.name = "y"}) -> tensor<?x64xf32> {
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// The text's names and bounds stay; what another function calls is no kernel.
// CHECK: attn.dim @rows min 1 max 8
// CHECK-NOT: attn.dim
// CHECK: func.func @inner({{.*}}) -> tensor<?x64xf32> {
// CHECK: func.func @outer(%{{.*}}: tensor<?x64xf32> {attn.dims = ["rows"], attn.name = "arg0"}) -> (tensor<?x64xf32> {attn.dims = ["rows"], attn.name = "out"})
attn.dim @rows min 1 max 8
func.func @inner(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %z = attn.activation relu %x : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
func.func @outer(%x: tensor<?x64xf32> {attn.dims = ["rows"]}) -> tensor<?x64xf32> {
  %z = func.call @inner(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// Tokens of a recurrence and of what is beside it; rows of its states, one less than offsets, all written to one state.
// CHECK: attn.dim @dim0 min
// CHECK: attn.dim @dim1 min 0 max
// CHECK: attn.dim @dim2 min
// CHECK-NOT: attn.dim
// CHECK: func.func @cell(%{{[^}]*}}: tensor<?x128xf32> {attn.dims = ["dim0"], {{[^}]*}}}, %{{[^}]*}}: tensor<32x128xf32> {attn.name = "arg1"}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim1+1"], {{[^}]*}}},
// CHECK-SAME: %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim1"], {{[^}]*}}}, %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim1"], {{[^}]*}}}, %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim2"], {{[^}]*}}}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim1"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x64xf32> {attn.dims = ["dim0"], {{[^}]*}}}, tensor<?x32xf32> {attn.dims = ["dim2"], {{[^}]*}}})
func.func @cell(%x: tensor<?x128xf32>, %w: tensor<32x128xf32>, %begin: tensor<?xi32>, %h: tensor<?x32xf32>, %c: tensor<?x32xf32>, %state: tensor<?x32xf32>, %slots: tensor<?xi32>)
    -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %c) : tensor<?x128xf32>, tensor<32x128xf32>, tensor<?xi32>, tensor<?x32xf32>, tensor<?x32xf32>
  %both = attn.concat %y, %y : tensor<?x32xf32>, tensor<?x32xf32>
  %new = attn.update_rows %state, %last#0, %slots : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>
  return %both, %new : tensor<?x64xf32>, tensor<?x32xf32>
}

// -----

// Results of which no argument has the size, but a number more: states that start as zeros, pooled rows.
// CHECK: func.func @states(%{{[^}]*}} {attn.dims = ["dim0"], {{[^}]*}}}, %{{[^}]*}} {attn.name = "arg1"}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim1+1"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x32xf32> {attn.dims = ["dim1"], {{[^}]*}}}, tensor<?x32xf32> {attn.dims = ["dim1"], {{[^}]*}}})
func.func @states(%x: tensor<?x128xf32>, %w: tensor<32x128xf32>, %begin: tensor<?xi32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x128xf32>, tensor<32x128xf32>, tensor<?xi32>
  return %last#0, %last#1 : tensor<?x32xf32>, tensor<?x32xf32>
}
// CHECK: func.func @pool(%{{[^}]*}} {attn.dims = ["dim2"], {{[^}]*}}}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["rows+1"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x64xf32> {attn.dims = ["rows"], {{[^}]*}}})
func.func @pool(%x: tensor<?x64xf32>, %begin: tensor<?xi32>) -> (tensor<?x64xf32> {attn.dims = ["rows"]}) {
  %y = attn.pool_rows mean %x, %begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// CHECK: func.func @tables(%{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim3"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x2xf32> {attn.dims = ["dim3"], {{[^}]*}}}, tensor<?xf32> {attn.dims = ["dim3"], {{[^}]*}}})
func.func @tables(%p: tensor<?xi32>) -> (tensor<?x2xf32>, tensor<?xf32>) {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
  %c = attn.column %sin[0] : tensor<?x2xf32> -> tensor<?xf32>
  return %cos, %c : tensor<?x2xf32>, tensor<?xf32>
}
// CHECK: func.func @empty(%{{[^}]*}} {attn.dims = ["dim4"], {{[^}]*}}}) -> (tensor<4x?xf32> {attn.dims = ["dim4"], {{[^}]*}}})
func.func @empty(%x: tensor<?x64xf32>) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<4x?xf32>
  return %e : tensor<4x?xf32>
}

// -----

// Offsets of no rows are one number: a dim of them cannot be below 1. Lengths and offsets of one attention, positions
// and their past, agree on the rows.
// CHECK: func.func @where(%{{[^}]*}} {attn.dims = ["dim0"], {{[^}]*}}}, %{{[^}]*}} {attn.dims = ["dim1+1"], {{[^}]*}}})
func.func @where(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?xi32> {
  %p = attn.positions %tokens, %begin : tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: func.func @ragged(%{{[^}]*}} {attn.dims = ["dim2"], {{[^}]*}}}, %{{[^}]*}} {attn.dims = ["dim3", "dim4"], {{[^}]*}}}, %{{[^}]*}} {attn.dims = ["dim3+1"], {{[^}]*}}}, %{{[^}]*}} {attn.dims = ["dim3"], {{[^}]*}}}, %{{[^}]*}} {attn.dims = ["dim3"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x2x32xf32> {attn.dims = ["dim2"], {{[^}]*}}}, tensor<?xi32> {attn.dims = ["dim2"], {{[^}]*}}})
func.func @ragged(%x: tensor<?x2x32xf32>, %k: tensor<?x?x2x32xf32>, %begin: tensor<?xi32>, %length: tensor<?xi32>, %past: tensor<?xi32>)
    -> (tensor<?x2x32xf32>, tensor<?xi32>) {
  %s = arith.constant 1.0 : f32
  %o = attn.attention %x, %k, %k, %s q_begin(%begin : tensor<?xi32>) kv_length(%length : tensor<?xi32>) maps [#q, #k, #v, #o]
    : tensor<?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x2x32xf32>
  %m = attn.merge_heads %o : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %e = attn.column %m[0] : tensor<?x64xf32> -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %e, %c0 : tensor<?xf32>
  %t = tensor.empty(%n) : tensor<?xi32>
  %p = attn.positions %t, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %o, %p : tensor<?x2x32xf32>, tensor<?xi32>
}

// -----

// An extent that a type tells, wherever it does.
// CHECK: attn.dim @dim0 min 3 max 3
// CHECK: func.func @three(%{{[^}]*}} {attn.name = "arg0"}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim0+1"], {{[^}]*}}}, %{{[^}]*}}: tensor<3xi32> {attn.name = "arg2"})
func.func @three(%tokens: tensor<8xi32>, %begin: tensor<?xi32>, %past: tensor<3xi32>) -> tensor<8xi32> {
  %p = attn.positions %tokens, %begin, %past : tensor<8xi32>, tensor<?xi32>, tensor<3xi32>
  return %p : tensor<8xi32>
}

// -----

// A model's entries are declared by its importer.
// CHECK: func.func @model(%{{.*}}: tensor<?x64xf32>) -> tensor<?x64xf32> {
module attributes {attn.model = {}} {
  func.func @model(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    return %x : tensor<?x64xf32>
  }
}

// -----

// expected-error@+1 {{has two names for one dim: 'm' is extent 0 of 'arg0' and 'n' is extent 0 of 'arg1', which the ops force to be equal}}
func.func @two(%x: tensor<?x64xf32> {attn.dims = ["m"]}, %y: tensor<?x64xf32> {attn.dims = ["n"]}) -> tensor<?x64xf32> {
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{names 2 dims of 'tensor<?x64xf32>', which has 1}}
func.func @many(%x: tensor<?x64xf32> {attn.dims = ["m", "n"]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has 'i16' as argument 0: a kernel works on scalars and tensors of f32, bf16, f16, i1, i8, i32 or i64}}
func.func @short_integer(%x: i16, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has two arrays named 'x'}}
func.func @same(%x: tensor<?x64xf32> {attn.name = "x"}, %y: tensor<?x64xf32> {attn.name = "x"}) -> tensor<?x64xf32> {
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{attribute 'attn.dims' of argument 0 must be an array of names of dims, found [3]}}
func.func @odd(%x: tensor<?x64xf32> {attn.dims = [3]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has a dim 'f', which is the name of something else}}
func.func @f(%x: tensor<?x64xf32> {attn.dims = ["f"]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

func.func @tokens(%x: tensor<?x64xf32>, %class: tensor<1x64xf32>, %positions: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.image_tokens' op makes as many rows as no argument of a kernel has: it belongs in a model}}
  %0 = attn.image_tokens %x, %class, %positions : tensor<?x64xf32>, tensor<1x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Near miss: the offsets of an argument's rows are one more than these.
// CHECK-LABEL: @offsets
// CHECK-SAME: attn.dims = ["dim0"]
// CHECK-SAME: attn.dims = ["dim0+1"]
func.func @offsets(%x: tensor<?x5x64xf32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %rows = tensor.dim %x, %c0 : tensor<?x5x64xf32>
  %0 = attn.equal_rows %rows, %c5 : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

// Neither in what a kernel calls.
func.func private @inner(%x: tensor<?x3x?x?xf32>) -> tensor<?x768xf32> {
  // expected-error@+1 {{'attn.patches' op makes as many rows as no argument of a kernel has: it belongs in a model}}
  %0 = attn.patches %x size 16 : tensor<?x3x?x?xf32> -> tensor<?x768xf32>
  return %0 : tensor<?x768xf32>
}
func.func @outer(%x: tensor<?x3x?x?xf32>) -> tensor<?x768xf32> {
  %0 = func.call @inner(%x) : (tensor<?x3x?x?xf32>) -> tensor<?x768xf32>
  return %0 : tensor<?x768xf32>
}

// -----

// A name alone is no reason.
// expected-error@+1 {{has extent 0 of 'out', which follows from no argument's: a caller cannot know how much memory to give}}
func.func @free(%x: tensor<?x64xf32> {attn.dims = ["n"]}) -> (tensor<?x64xf32> {attn.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %twice = arith.addi %n, %n : index
  %y = tensor.empty(%twice) : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Ops of linalg, tensor and arith force extents to be equal, too, and numbers are numbers.
// CHECK-LABEL: func.func @upstream
// CHECK-SAME: tensor<?x?xf32> {attn.dims = ["dim0", "dim1"], attn.name = "arg0"}
// CHECK-SAME: tensor<?xf32> {attn.dims = ["dim1"], attn.name = "arg1"}
// CHECK-SAME: tensor<?xf32> {attn.dims = ["dim0"], attn.name = "arg2"}
// CHECK-SAME: tensor<?xi32> {attn.dims = ["dim0+1"], attn.name = "arg3"}) -> (tensor<?xf32> {attn.dims = ["dim0"]
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @upstream(%a: tensor<?x?xf32>, %x: tensor<?xf32>, %y: tensor<?xf32>, %begin: tensor<?xi32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %offsets = tensor.dim %begin, %c0 : tensor<?xi32>
  %one_less = arith.constant -1 : index
  %rows = arith.addi %offsets, %one_less : index
  %init = tensor.empty(%rows) : tensor<?xf32>
  %ax = linalg.generic {indexing_maps = [#all, #column, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a, %x : tensor<?x?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%m: f32, %v: f32, %sum: f32):
    %0 = arith.mulf %m, %v : f32
    %1 = arith.addf %0, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %z = arith.addf %ax, %y : tensor<?xf32>
  %cut = tensor.extract_slice %z[0] [%rows] [1] : tensor<?xf32> to tensor<?xf32>
  return %cut : tensor<?xf32>
}

// -----

// expected-error@+1 {{has extent 0 of 'out', which is 'n' and 2: an extent is a dim, or one more}}
func.func @two_more(%x: tensor<?xf32> {attn.dims = ["n"]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.addi %n, %c2 : index
  %y = tensor.empty(%more) : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error@+1 {{names extent 0 of 'arg1' 'n': offsets of packed rows are one more than the rows, 'n+1'}}
func.func @offsets(%x: tensor<?x64xf32>, %begin: tensor<?xi32> {attn.dims = ["n"]}) -> tensor<?x64xf32> {
  %y = attn.pool_rows mean %x, %begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has two names for one dim: 'n+1' is extent 0 of 'arg1' and 'm' is extent 0 of 'out', which the ops force to be the rows and one more}}
func.func @rows(%x: tensor<?x64xf32>, %begin: tensor<?xi32> {attn.dims = ["n+1"]}) -> (tensor<?x64xf32> {attn.dims = ["m"]}) {
  %y = attn.pool_rows mean %x, %begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has two names for one dim: 'n+1' is extent 0 of 'arg0' and 'n' is extent 0 of 'arg1', which the ops force to be equal}}
func.func @more(%x: tensor<?x64xf32> {attn.dims = ["n+1"]}, %y: tensor<?x64xf32> {attn.dims = ["n"]}) -> tensor<?x64xf32> {
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has extent 0 of 'arg1', which is 'dim0' and 2: an extent is a dim, or one more}}
func.func @twice(%begin: tensor<?xi32>, %again: tensor<?xi32>, %x: tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x64xf32>) {
  %y = attn.pool_rows mean %x, %begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %p = attn.positions %begin, %again, %begin : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %p, %y : tensor<?xi32>, tensor<?x64xf32>
}

// -----

func.func @itself(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?xi32> {
  // expected-error@+1 {{needs arrays that no caller has: it would give one extent two sizes, or one below 0}}
  %p = attn.positions %tokens, %begin, %begin : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}

// -----

func.func @none(%tokens: tensor<?xi32>, %begin: tensor<0xi32>) -> tensor<?xi32> {
  // expected-error@+1 {{needs arrays that no caller has: it would give one extent two sizes, or one below 0}}
  %p = attn.positions %tokens, %begin : tensor<?xi32>, tensor<0xi32>
  return %p : tensor<?xi32>
}

// -----

func.func @sizes(%tokens: tensor<?xi32>, %begin: tensor<4xi32>, %past: tensor<5xi32>) -> tensor<?xi32> {
  // expected-error@+1 {{needs arrays that no caller has: it would give one extent two sizes, or one below 0}}
  %p = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<4xi32>, tensor<5xi32>
  return %p : tensor<?xi32>
}

// -----

// expected-error@+1 {{returns an array in the memory of an argument that never has its size}}
func.func @place(%tokens: tensor<?xi32>, %begin: tensor<?xi32> {attn.name = "b"}, %past: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32> {attn.name = "b"}) {
  %p = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %p, %past : tensor<?xi32>, tensor<?xi32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A result without b is that of one sequence.
// expected-error@+1 {{'attn.dim' op is always 1 in 'one_result', which its bounds must say}}
attn.dim @rows min 0 max 16
func.func @one_result(%q: tensor<?x2x32xf32>, %n: tensor<?xi32> {attn.dims = ["rows"]}) -> tensor<?x2x32xf32> {
  %s = arith.constant 0.25 : f32
  %o = attn.attention %q, %q, %q, %s kv_length(%n : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %o : tensor<?x2x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

func.func @two_sequences(%q: tensor<?x2x32xf32>, %k: tensor<?x2x32xf32>, %n: tensor<?xi32>, %begin: tensor<4xi32>) -> (tensor<?xi32>, tensor<?x2x32xf32>) {
  %s = arith.constant 0.25 : f32
  %p = attn.positions %n, %begin, %n : tensor<?xi32>, tensor<4xi32>, tensor<?xi32>
  // expected-error@+1 {{needs arrays that no caller has: it would give one extent two sizes, or one below 0}}
  %o = attn.attention %q, %k, %k, %s kv_begin(%n : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %p, %o : tensor<?xi32>, tensor<?x2x32xf32>
}

// -----

// A cache has one dim, its blocks, which a result in the same memory has, too.
// CHECK: attn.dim @dim0 min 0
// CHECK: func.func @cache(%{{.*}}: !attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.dims = ["dim0"], attn.name = "pool"})
// CHECK-SAME: -> (!attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.dims = ["dim0"], attn.name = "pool"})
func.func @cache(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.name = "pool"}) -> (!attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.name = "pool"}) {
  return %c : !attn.kv_cache<1 x 1 x 32, block = 64, f32>
}

// -----

// expected-error@+1 {{gives back a cache under another name than that of the argument that it was: attn.name of both must be the same}}
func.func @other_name(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>) -> !attn.kv_cache<1 x 1 x 32, block = 64, f32> {
  return %c : !attn.kv_cache<1 x 1 x 32, block = 64, f32>
}

// -----

// expected-error@+1 {{names the dims of '!attn.kv_cache<1 x 1 x 32, block = 64, f32>' ["a", "b"]: it has one, its blocks}}
func.func @two_dims(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.dims = ["a", "b"]}) {
  return
}

// -----

!cache = !attn.kv_cache<1 x 1 x 32, block = 64, f32>
// The memory of the second argument holds as many blocks as it has itself.
// expected-error@+1 {{gives back a cache under another name than that of the argument that it was: attn.name of both must be the same}}
func.func @other_memory(%c: !cache {attn.name = "from"}, %d: !cache {attn.name = "to"}) -> (!cache {attn.name = "to"}) {
  return %c : !cache
}

// -----

!cache = !attn.kv_cache<1 x 1 x 32, block = 64, f32>
// A loop that exchanges two caches gives back neither's memory.
// expected-error@+1 {{gives back a cache under another name than that of the argument that it was}}
func.func @exchanged(%c: !cache {attn.name = "a"}, %d: !cache {attn.name = "b"}) -> (!cache {attn.name = "a"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %c, %y = %d) -> (!cache, !cache) {
    scf.yield %y, %x : !cache, !cache
  }
  return %0#0 : !cache
}

// -----

!cache = !attn.kv_cache<1 x 1 x 32, block = 64, f32>
// expected-error@+1 {{names the dims of '!attn.kv_cache<1 x 1 x 32, block = 64, f32>' ["blocks"] and ["other"]}}
func.func @other_dims(%c: !cache {attn.name = "a", attn.dims = ["blocks"]}) -> (!cache {attn.name = "a", attn.dims = ["other"]}) {
  return %c : !cache
}

// -----

// A name that the text gives later is not taken for a dim without one.
// CHECK: func.func @taken(%{{.*}}: tensor<?x32xf32> {attn.dims = ["dim1"]{{.*}}}, %{{.*}}: tensor<?x32xf32> {attn.dims = ["dim0"]
func.func @taken(%x: tensor<?x32xf32>, %y: tensor<?x32xf32> {attn.dims = ["dim0"]}) {
  return
}

// -----

// A caller gives scalars as arrays of one element, an index as i64, and truth values as bytes.
// CHECK-LABEL: func.func @scalars(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>{{.*}}, %[[F:.*]]: tensor<f32> {attn.name = "factor"}, %[[N:.*]]: tensor<i64> {attn.name = "n"}, %[[K:.*]]: tensor<?xi8> {attn.dims = ["dim0"], attn.name = "keep"})
// CHECK-SAME: -> (tensor<?xf32> {attn.dims = ["dim0"], attn.name = "out0"}, tensor<?xi8> {attn.dims = ["dim0"], attn.name = "out1"}, tensor<i64> {attn.name = "out2"})
func.func @scalars(%x: tensor<?xf32>, %factor: f32 {attn.name = "factor"}, %n: index {attn.name = "n"}, %keep: tensor<?xi1> {attn.name = "keep"}) -> (tensor<?xf32>, tensor<?xi1>, index) {
  // CHECK: %[[TRUTHS:.*]] = arith.cmpi ne, %[[K]], %{{.*}} : tensor<?xi8>
  // CHECK: %[[LOADED:.*]] = tensor.extract %[[N]][] : tensor<i64>
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[LOADED]] : i64 to index
  // CHECK: %[[FACTOR:.*]] = tensor.extract %[[F]][] : tensor<f32>
  // CHECK: tensor.splat %[[FACTOR]]
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %factors = tensor.splat %factor[%d] : tensor<?xf32>
  %y = arith.mulf %x, %factors : tensor<?xf32>
  %z = arith.select %keep, %y, %x : tensor<?xi1>, tensor<?xf32>
  // CHECK: %[[TWICE:.*]] = arith.addi %[[INDEX]], %[[INDEX]] : index
  %twice = arith.addi %n, %n : index
  // CHECK: %[[BYTES:.*]] = arith.extui %[[TRUTHS]] : tensor<?xi1> to tensor<?xi8>
  // CHECK: return %{{.*}}, %[[BYTES]], %{{.*}} : tensor<?xf32>, tensor<?xi8>, tensor<i64>
  return %z, %keep, %twice : tensor<?xf32>, tensor<?xi1>, index
}

// -----

// An extra operand of i1 is read as bytes by the regions, and extents of tables are at least 1.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#m = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
// CHECK: attn.dim @dim2 min 1 max
// CHECK-LABEL: func.func @listed(
// CHECK-SAME: %[[LISTED:arg[0-9]+]]: tensor<?x?xi8> {{.*}}, %[[TABLE:arg[0-9]+]]: tensor<?xi8> {attn.dims = ["dim2"]
func.func @listed(%x: tensor<?x32xf32>, %y: tensor<?x32xf32>, %listed: tensor<?x?xi1>, %table: tensor<?xi1>) -> tensor<?x32xf32> {
  %scale = arith.constant 1.0 : f32
  // CHECK: extras(%[[LISTED]], %[[TABLE]] : tensor<?x?xi8>, tensor<?xi8>)
  // CHECK: ^bb0({{.*}}, %[[E:.*]]: i8, %[[T:.*]]: tensor<?xi8>):
  // CHECK: %[[TRUTH:.*]] = arith.cmpi ne, %[[E]], %{{.*}} : i8
  // CHECK: %[[ELEMENT:.*]] = attn.lookup %[[T]][%{{.*}}] : tensor<?xi8> -> i8
  // CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[ELEMENT]], %{{.*}} : i8
  // CHECK: arith.andi %[[TRUTH]], %[[OTHER]] : i1
  %o = attn.attention %x, %y, %y, %scale extras(%listed, %table : tensor<?x?xi1>, tensor<?xi1>) maps [#q, #k, #v, #o, #m, #t]
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: i1, %t: tensor<?xi1>):
      %f = attn.lookup %t[%j] : tensor<?xi1> -> i1
      %keep = arith.andi %e, %f : i1
      attn.yield %keep : i1
    }
  return %o : tensor<?x32xf32>
}

// -----

// expected-error@+1 {{is an extent of a table in 'short', so its least must be 1, found 0}}
attn.dim @n min 0 max 64
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @short(%x: tensor<?x32xf32>, %table: tensor<?xf32> {attn.dims = ["n"]}) -> tensor<?x32xf32> {
  %scale = arith.constant 1.0 : f32
  %o = attn.attention %x, %x, %x, %scale extras(%table : tensor<?xf32>) maps [#q, #k, #v, #o, #t]
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %o : tensor<?x32xf32>
}

// -----

// expected-error@+1 {{is a kernel with scalars, or arrays of i1, and another function calls it: the two need functions of their own}}
func.func @called(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> attributes {attn.entry} {
  return %x : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> attributes {attn.entry} {
  %0 = call @called(%x, %s) : (tensor<4xf32>, f32) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
