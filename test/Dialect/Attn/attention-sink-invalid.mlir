// RUN: rapt-opt %s --split-input-file --verify-diagnostics

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @length(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %sink: tensor<5xf32>) {
  // expected-error@+1 {{A41: needs a sink for each of its 6 query heads, found 'tensor<5xf32>'}}
  %0 = attn.attention %q, %k, %k, %s sink(%sink : tensor<5xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
func.func @one_head(%q: tensor<?x16xf32>, %s: f32, %sink: tensor<0xf32>) {
  // expected-error@+1 {{A41: needs a sink for each of its 1 query heads, found 'tensor<0xf32>'}}
  %0 = attn.attention %q, %q, %q, %s sink(%sink : tensor<0xf32>) maps [#q, #k, #v, #o] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @rank(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %sink: tensor<2x3xf32>) {
  // expected-error@+1 {{operand #4 must be a logit for each query head, a 1D tensor of f32, bf16 or f16 (A41), but got 'tensor<2x3xf32>'}}
  %0 = attn.attention %q, %k, %k, %s sink(%sink : tensor<2x3xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @type(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %sink: tensor<6xi32>) {
  // expected-error@+1 {{operand #4 must be a logit for each query head, a 1D tensor of f32, bf16 or f16 (A41), but got 'tensor<6xi32>'}}
  %0 = attn.attention %q, %k, %k, %s sink(%sink : tensor<6xi32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @count(%q: tensor<?x4294967296x4294967296x16xf32>, %k: tensor<?x4294967296x16xf32>, %s: f32, %sink: tensor<6xf32>) {
  // expected-error@+1 {{A15: dim hkv has 4294967296 elements, but sequences and heads are below 2^31}}
  %0 = attn.attention %q, %k, %k, %s sink(%sink : tensor<6xf32>) maps [#q, #k, #v, #o]
    : tensor<?x4294967296x4294967296x16xf32>, tensor<?x4294967296x16xf32>, tensor<?x4294967296x16xf32> -> tensor<?x4294967296x4294967296x16xf32>
  return
}
