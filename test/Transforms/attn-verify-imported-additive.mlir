// RUN: rapt-opt --attn-verify-imported --split-input-file --verify-diagnostics %s

// A later stage pads heads to a multiple of 32 channels and leaves the vector of an additive similarity as it is. Here
// nothing is padded, and the vector has an element for each channel.

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @short(%q: tensor<?x4x32xf32>, %s: f32, %v: tensor<20xf32>) -> tensor<?x4x32xf32> {
  // expected-error@+1 {{'attn.attention' op needs an additive vector with an element for each channel of 'tensor<?x4x32xf32>', found 'tensor<20xf32>'}}
  %0 = attn.attention %q, %q, %q, %s additive(%v : tensor<20xf32>) maps [#q, #k, #v, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @weights(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x4x32xf32>, %s: f32, %v: tensor<31xf32>) -> tensor<?x1x1x64xf32> {
  // expected-error@+1 {{'attn.attention_weights' op needs an additive vector with an element for each channel of 'tensor<?x4x32xf32>', found 'tensor<31xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %q, %s heads [3] additive(%v : tensor<31xf32>) maps [#q, #k] : tensor<?x1x1x64xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32>
  return %0 : tensor<?x1x1x64xf32>
}
