// RUN: rapt-opt %s --split-input-file --verify-diagnostics
// A45 and A46: which second pairs are refused.

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @maps(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>) {
  // expected-error@+1 {{A1: needs a map for query, key, value, result, each extra operand and the second pair: 6, found 4}}
  %0 = attn.attention %q, %q, %q, %s second(%p, %p : tensor<?x4xf32>, tensor<?x4xf32>) maps [#q, #k, #v, #o] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @alone(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>) {
  // expected-error@+1 {{A45: needs a second query and a second key, or neither of them}}
  %0 = "attn.attention"(%q, %q, %q, %s, %p) <{maps = [#q, #k, #v, #o, #q], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0>}> ({}, {})
    : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, f32, tensor<?x4xf32>) -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @channels(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>, %r: tensor<?x8xf32>) {
  // expected-error@+1 {{A46: dim dqk of the second pair has 4 elements in the second query and 8 in the second key; give all operands one extent}}
  %0 = attn.attention %q, %q, %q, %s second(%p, %r : tensor<?x4xf32>, tensor<?x8xf32>) maps [#q, #k, #v, #o, #q, #k] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @no_channels(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x0xf32>) {
  // expected-error@+1 {{A46: needs a second pair of 1 channel or more, found 'tensor<?x0xf32>' and 'tensor<?x0xf32>'}}
  %0 = attn.attention %q, %q, %q, %s second(%p, %p : tensor<?x0xf32>, tensor<?x0xf32>) maps [#q, #k, #v, #o, #q, #k] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @additive(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>, %a: tensor<16xf32>) {
  // expected-error@+1 {{A45: has an additive vector and a second pair, whose similarity is the dot product}}
  %0 = attn.attention %q, %q, %q, %s additive(%a : tensor<16xf32>) second(%p, %p : tensor<?x4xf32>, tensor<?x4xf32>) maps [#q, #k, #v, #o, #q, #k] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @swapped(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>) {
  // expected-error@+1 {{A1: second query map must have the dim q}}
  %0 = attn.attention %q, %q, %q, %s second(%p, %p : tensor<?x4xf32>, tensor<?x4xf32>) maps [#q, #k, #v, #o, #k, #k] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#h = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @more_heads(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>, %r: tensor<?x2x4xf32>) {
  // expected-error@+1 {{A4: result map must have the dim hkv, as query, key and value have it}}
  %0 = attn.attention %q, %q, %q, %s second(%p, %r : tensor<?x4xf32>, tensor<?x2x4xf32>) maps [#q, #k, #v, #o, #q, #h] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, g, dv)>
#g = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, g, dqk)>
func.func @groups(%q: tensor<?x2x16xf32>, %k: tensor<?x16xf32>, %s: f32, %p: tensor<?x2x4xf32>) {
  // expected-error@+1 {{A3: second key 'tensor<?x2x4xf32>' has more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %0 = attn.attention %q, %k, %k, %s second(%p, %p : tensor<?x2x4xf32>, tensor<?x2x4xf32>) maps [#q, #k, #v, #o, #q, #g] : tensor<?x2x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#b = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, dqk)>
func.func @packed(%q: tensor<?x16xf32>, %s: f32, %p: tensor<?x4xf32>, %r: tensor<2x?x4xf32>, %begin: tensor<3xi32>) {
  // expected-error@+1 {{A27: has kv_begin, so the maps of key and value must leave b out}}
  %0 = attn.attention %q, %q, %q, %s q_begin(%begin : tensor<3xi32>) kv_begin(%begin : tensor<3xi32>) second(%p, %r : tensor<?x4xf32>, tensor<2x?x4xf32>) maps [#q, #k, #v, #o, #q, #b]
    : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}
