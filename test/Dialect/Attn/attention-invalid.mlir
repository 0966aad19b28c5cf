// RUN: rapt-opt --split-input-file --verify-diagnostics %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @count(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{'attn.attention' op A1: needs a map for query, key, value, result and each extra operand: 4, found 3}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q + kv, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @sum(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: map 0 must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(hkv, g, q, dqk) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @dims(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: map 0 must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @rank(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: map 1 has 2 results for 'tensor<?x2x16xf32>'}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @extent(%q: tensor<?x2x3x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A2: dim hkv has 2 elements in the query and 4 in the key; query heads are hkv g, so give the query a dim hkv of 2 and a dim g of 2, by attn.split_heads}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x4x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @channels(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: dim dqk has 16 elements in the query and 8 in the key; give all operands one extent}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, b)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @query_needs(%q: tensor<?x2x3x1xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: query map must have the dim dqk}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x1xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @key_needs(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: key map must have the dim kv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @value_needs(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x3xf32>, %s: f32) {
  // expected-error@+1 {{A1: value map must have the dim dv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x3xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, g, dv)>
func.func @result_needs(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: result map must have the dim q}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk, kv)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @query_bans(%q: tensor<?x2x3x16x?xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: query map must leave the dim kv out}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16x?xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk, q)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @key_bans(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16x?xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: key map must leave the dim q out}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16x?xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv, dqk)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @value_bans(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8x16xf32>, %s: f32) {
  // expected-error@+1 {{A1: value map must leave the dim dqk out}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8x16xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv, kv)>
func.func @result_bans(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: result map must leave the dim kv out}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8x?xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (dqk)>
func.func @extra_bans(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %e: tensor<16xf32>) {
  // expected-error@+1 {{A1: extra operand's map must leave the dim dqk out}}
  %0 = attn.attention %q, %k, %v, %s extras(%e : tensor<16xf32>) maps [#q, #k, #v, #o, #e] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
func.func @q_begin(%q: tensor<?x?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<?xi32>) {
  // expected-error@+1 {{A26: has q_begin, so the maps of query and result must leave b out}}
  %0 = attn.attention %q, %k, %v, %s q_begin(%n : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @kv_begin(%q: tensor<?x2x3x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<?xi32>) {
  // expected-error@+1 {{A27: has kv_begin, so the maps of key and value must leave b out}}
  %0 = attn.attention %q, %k, %v, %s kv_begin(%n : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @result_lacks(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A4: result map must have the dim g, as query, key and value have it}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
func.func @result_adds(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A4: result map must leave out the dim b, as query, key and value do}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @score_arguments(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A5: score region must take (s: f32, b, h, q, kv: index, and one element of each extra operand, or a table whole): ('f32', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index')}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    score {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %1 = arith.constant 1.0 : f32
      attn.yield %1 : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @mask_arguments(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A5: mask region must take (b, h, q, kv: index, and one element of each extra operand, or a table whole): ('index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index', 'f32')}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32):
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @score_yield(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A5: score region must yield 'f32'}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      attn.yield %i : index
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @mask_yield(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A5: mask region must yield 'i1'}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      attn.yield %i : index
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @mask_empty(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{empty block: expect at least a terminator}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @mask_blocks(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A44: mask region must have one block}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      cf.br ^bb1
    ^bb1:
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @score_capture_A17(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %t: tensor<?xf32>) {
  // expected-error@+1 {{A17: score region reads a 'tensor<?xf32>' from outside: it must be an extra operand}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %1 = tensor.extract %t[%j] : tensor<?xf32>
      attn.yield %1 : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @table_element(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x32xf32>) {
  // expected-error@+1 {{A5: score region must take (s: f32, b, h, q, kv: index, and one element of each extra operand, or a table whole): ('f32', 'index', 'index', 'index', 'index', 'tensor<4x32xf32>'), found ('f32', 'index', 'index', 'index', 'index', 'f32')}}
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x32xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @table_empty(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x0xf32>) {
  // expected-error@+1 {{A30: has a table 'tensor<4x0xf32>', but a table has 1 to 2147483647 elements}}
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x0xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: tensor<4x0xf32>):
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @table_huge(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<65536x65536xf32>) {
  // expected-error@+1 {{A30: has a table 'tensor<65536x65536xf32>', but a table has 1 to 2147483647 elements}}
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<65536x65536xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: tensor<65536x65536xf32>):
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @table_used(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x32xf32>) {
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x32xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: tensor<4x32xf32>):
      %c = arith.constant 0 : index
      // expected-error@+1 {{uses a table, which only attn.lookup reads}}
      %d = tensor.dim %e, %c : tensor<4x32xf32>
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @lookup_indices(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x32xf32>) {
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x32xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: tensor<4x32xf32>):
      // expected-error@+1 {{A30: has 1 indices for 'tensor<4x32xf32>'; a table has 1 to 3 dims}}
      %d = attn.lookup %e[%h] : tensor<4x32xf32> -> f32
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
func.func @lookup_type(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x32xi32>) {
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x32xi32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: tensor<4x32xi32>):
      // expected-error@+1 {{A40: reads 'i32' as 'f32'}}
      %d = attn.lookup %e[%h, %j] : tensor<4x32xi32> -> f32
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @additive(%q: tensor<?x4x16xf32>, %s: f32, %v: tensor<17xf32>) {
  // expected-error@+1 {{A6: needs an additive vector with an element for each of the static channels dqk, found 'tensor<17xf32>' for 'tensor<?x4x16xf32>'}}
  %0 = attn.attention %q, %q, %q, %s additive(%v : tensor<17xf32>) maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @lookup_local(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %e = tensor.empty() : tensor<4xf32>
      // expected-error@+1 {{A30: reads tables that are arguments of its region}}
      %d = attn.lookup %e[%h] : tensor<4xf32> -> f32
      attn.yield %d : f32
    }
  return
}

// -----

// Scores are sums over at least one channel.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @noChannels(%q: tensor<?x1x0xf32>, %v: tensor<?x1x8xf32>, %s: f32) {
  // expected-error@+1 {{'attn.attention' op A6: needs queries and keys of 1 channel or more, found 'tensor<?x1x0xf32>' and 'tensor<?x1x0xf32>'}}
  %0 = attn.attention %q, %q, %v, %s maps [#q, #k, #v, #o] : tensor<?x1x0xf32>, tensor<?x1x0xf32>, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  return
}
