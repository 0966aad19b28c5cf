// RUN: rapt-opt --attn-verify-imported --split-input-file --verify-diagnostics %s

// A layout pads heads and leaves the vector of an additive similarity as it is. Here
// nothing is padded, and the vector has an element for each channel.

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @short(%q: tensor<?x4x32xf32>, %s: f32, %v: tensor<20xf32>) -> tensor<?x4x32xf32> {
  // expected-error@+1 {{'attn.attention' op A6: has the additive vector 'tensor<20xf32>' for queries 'tensor<?x4x32xf32>': the imported stage promises an element for each channel}}
  %0 = attn.attention %q, %q, %q, %s additive(%v : tensor<20xf32>) maps [#q, #k, #v, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @weights(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x4x32xf32>, %s: f32, %v: tensor<31xf32>) -> tensor<?x1x1x64xf32> {
  // expected-error@+1 {{'attn.attention' op A6: has the additive vector 'tensor<31xf32>' for queries 'tensor<?x4x32xf32>': the imported stage promises an element for each channel}}
  %o, %0 = attn.attention %q, %q, %q, %s additive(%v : tensor<31xf32>) weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %0 : tensor<?x1x1x64xf32>
}

// -----

// Columns of other ops are as many as they compute.
func.func @sinusoids(%p: tensor<?xi32>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'attn.sinusoids' op has padded channels: the imported stage promises logical shapes}}
  %0 = attn.sinusoids %p frequencies [1.0, 0.5] : tensor<?xi32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

func.func @patches(%pixels: tensor<?x3x?x?xf32>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'attn.patches' op has padded channels: the imported stage promises logical shapes}}
  %0 = attn.patches %pixels size 3 : tensor<?x3x?x?xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

func.func @unpack(%x: tensor<?x32xf32>, %n: index) -> tensor<?x?x20xf32> {
  // expected-error@+1 {{'attn.unpack_rows' op has padded channels: the imported stage promises logical shapes}}
  %0 = attn.unpack_rows %x, %n : tensor<?x32xf32> -> tensor<?x?x20xf32>
  return %0 : tensor<?x?x20xf32>
}
