// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// Groups that key and value may not have (A3), and extents of dims that the result leaves out (A4).

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @key_groups(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x3x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{key 'tensor<?x2x3x16xf32>' has more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @value_groups(%q: tensor<?x2x?x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x?x8xf32>, %s: f32) {
  // expected-error@+1 {{value 'tensor<?x2x?x8xf32>' may have more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x?x16xf32>, tensor<?x2x16xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @weights_groups(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x3x16xf32>, %s: f32) {
  // expected-error@+1 {{key 'tensor<?x2x3x16xf32>' has more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @two_lengths(%q: tensor<?x2x16xf32>, %n: tensor<2xi32>, %s: f32) {
  // expected-error@+1 {{extent of dim b is 2, but the result has no dim b; expected 1}}
  %0 = attn.attention %q, %q, %q, %s kv_length(%n : tensor<2xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @three_keys_begin(%q: tensor<?x2x16xf32>, %n: tensor<4xi32>, %s: f32) {
  // expected-error@+1 {{extent of dim b is 3, but the result has no dim b; expected 1}}
  %0 = attn.attention %q, %q, %q, %s kv_begin(%n : tensor<4xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g)>
func.func @groups_of_an_extra(%q: tensor<?x2x16xf32>, %e: tensor<2x3xf32>, %s: f32) {
  // expected-error@+1 {{extent of dim g is 3, but the result has no dim g; expected 1}}
  %0 = attn.attention %q, %q, %q, %s extras(%e : tensor<2x3xf32>) maps [#q, #k, #v, #o, #e] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @lengths_and_offsets_A25(%q: tensor<?x2x16xf32>, %b: tensor<3xi32>, %n: tensor<3xi32>, %s: f32) {
  // expected-error@+1 {{extent of dim b is both 2 and 3}}
  %0 = attn.attention %q, %q, %q, %s q_begin(%b : tensor<3xi32>) kv_length(%n : tensor<3xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @no_offset_A25(%q: tensor<?x2x16xf32>, %b: tensor<0xi32>, %s: f32) {
  // expected-error@+1 {{q_begin is empty, but needs one offset more than the extent of dim b}}
  %0 = attn.attention %q, %q, %q, %s q_begin(%b : tensor<0xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

// Without q_begin the weights of a second sequence would have the place of the first one's.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @weights_of_two(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x16xf32>, %k: tensor<2x?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{result map must have the dim b, as query, key and value have it}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<2x?x2x16xf32>, tensor<2x?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @weights_extents(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x16xf32>, %k: tensor<?x4x16xf32>, %s: f32) {
  // expected-error@+1 {{extent of dim hkv is both 2 and 4}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x2x16xf32>
  return
}
