// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// Groups that key and value may not have (A3), and extents of dims that the result leaves out (A4).

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @key_groups(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x3x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A3: key 'tensor<?x2x3x16xf32>' has more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @value_groups(%q: tensor<?x2x?x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x?x8xf32>, %s: f32) {
  // expected-error@+1 {{A3: value 'tensor<?x2x?x8xf32>' may have more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x?x16xf32>, tensor<?x2x16xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @weights_groups(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x3x16xf32>, %s: f32) {
  // expected-error@+1 {{A3: key 'tensor<?x2x3x16xf32>' has more than one element of the dim g; heads with keys and values of their own are the dim hkv}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32>, tensor<?x2x3x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @two_lengths(%q: tensor<?x2x16xf32>, %n: tensor<2xi32>, %s: f32) {
  // expected-error@+1 {{A4: extent of dim b is 2, but the result has no dim b; expected 1}}
  %0 = attn.attention %q, %q, %q, %s kv_length(%n : tensor<2xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @three_keys_begin(%q: tensor<?x2x16xf32>, %n: tensor<4xi32>, %s: f32) {
  // expected-error@+1 {{A4: extent of dim b is 3, but the result has no dim b; expected 1}}
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
  // expected-error@+1 {{A4: extent of dim g is 3, but the result has no dim g; expected 1}}
  %0 = attn.attention %q, %q, %q, %s extras(%e : tensor<2x3xf32>) maps [#q, #k, #v, #o, #e] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @lengths_and_offsets_A25(%q: tensor<?x2x16xf32>, %b: tensor<3xi32>, %n: tensor<3xi32>, %s: f32) {
  // expected-error@+1 {{A25: dim b has 2 elements by the offsets q_begin and 3 by kv_length; give all operands one extent}}
  %0 = attn.attention %q, %q, %q, %s q_begin(%b : tensor<3xi32>) kv_length(%n : tensor<3xi32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @no_offset_A25(%q: tensor<?x2x16xf32>, %b: tensor<0xi32>, %s: f32) {
  // expected-error@+1 {{A25: q_begin is empty, but needs one offset more than the extent of dim b}}
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
  // expected-error@+1 {{A4: result map must have the dim b, as query, key and value have it}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<2x?x2x16xf32>, tensor<2x?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @weights_extents(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x16xf32>, %k: tensor<?x4x16xf32>, %s: f32) {
  // expected-error@+1 {{A2: dim hkv has 2 elements in the query and 4 in the key; query heads are hkv g, so give the query a dim hkv of 2 and a dim g of 2, by attn.split_heads}}
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @heads_A2(%q: tensor<?x7x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A2: dim hkv has 7 elements in the query and 2 in the key; query heads are hkv g, and 7 is no multiple of 2}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x7x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x7x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @result_heads(%q: tensor<?x1x16xf32>, %k: tensor<?x1x16xf32>, %v: tensor<?x1x8xf32>, %s: f32) {
  // expected-error@+1 {{A2: dim hkv has 1 element in the query and 2 in the result; query heads are hkv g, so give}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x1x16xf32>, tensor<?x1x16xf32>, tensor<?x1x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @value_heads(%q: tensor<?x?x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x3x8xf32>, %s: f32) {
  // expected-error@+1 {{A1: dim hkv has 2 elements in the key and 3 in the value; give all operands one extent}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x?x16xf32>, tensor<?x2x16xf32>, tensor<?x3x8xf32> -> tensor<?x?x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>
func.func @extra_keys(%q: tensor<?x2x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %s: f32, %e: tensor<8xi32>) {
  // expected-error@+1 {{A1: dim kv has 9 elements in the key and 8 in extra operand 0; give all operands one extent}}
  %0 = attn.attention %q, %k, %v, %s extras(%e : tensor<8xi32>) maps [#q, #k, #v, #o, #e] : tensor<?x2x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
func.func @length_A25(%q: tensor<5x?x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<4xi32>) {
  // expected-error@+1 {{A25: dim b has 5 elements in the query and 4 by kv_length; give all operands one extent}}
  %0 = attn.attention %q, %k, %v, %s kv_length(%n : tensor<4xi32>) maps [#q, #k, #v, #o] : tensor<5x?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<5x?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @offsets_A25(%q: tensor<?x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<3xi64>) {
  // expected-error@+1 {{operand #4 must be offsets or lengths of sequences, a 1D tensor of i32 (A25), but got 'tensor<3xi64>'}}
  %0 = attn.attention %q, %k, %v, %s q_begin(%n : tensor<3xi64>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>
func.func @extra_A40(%q: tensor<?x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %e: tensor<?xf64>) {
  // expected-error@+1 {{an extra operand, a tensor of f32, bf16, f16, i1, i8, i32 or i64 (A40), but got 'tensor<?xf64>'}}
  %0 = attn.attention %q, %k, %v, %s extras(%e : tensor<?xf64>) maps [#q, #k, #v, #o, #e] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @additive_A6(%q: tensor<?x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %a: tensor<16x1xf32>) {
  // expected-error@+1 {{operand #4 must be the vector of additive similarity, a 1D tensor of f32, bf16 or f16 (A6), but got 'tensor<16x1xf32>'}}
  %0 = attn.attention %q, %k, %v, %s additive(%a : tensor<16x1xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @keys_A15(%q: tensor<?x2x16xf32>, %k: tensor<2147483585x2x16xf32>, %v: tensor<2147483585x2x8xf32>, %s: f32) {
  // expected-error@+1 {{A15: dim kv has 2147483585 elements, but positions are 0 to 2^31 - 65}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<2147483585x2x16xf32>, tensor<2147483585x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @queries_A15(%q: tensor<2147483648x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<?xi32>) {
  // expected-error@+1 {{A15: dim q has 2147483648 elements, but positions are 0 to 2^31 - 65}}
  %0 = attn.attention %q, %k, %v, %s q_begin(%n : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<2147483648x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<2147483648x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @groups_A15(%q: tensor<?x65536x65536x16xf32>, %k: tensor<?x65536x16xf32>, %v: tensor<?x65536x8xf32>, %s: f32) {
  // expected-error@+1 {{A15: has 65536 times 65536 query heads, but heads are below 2^31}}
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x65536x65536x16xf32>, tensor<?x65536x16xf32>, tensor<?x65536x8xf32> -> tensor<?x65536x65536x8xf32>
  return
}
