// RUN: rapt-opt %s --attn-to-linalg --attn-tile-linalg --split-input-file --verify-diagnostics

// The sizes of a neutral decomposition are input: one error for each that is missing or too large.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @f(%q: tensor<?x4x20xf32>, %s: f32) -> tensor<?x4x20xf32> {
  // expected-error@+1 {{'attn.attention' op has no attn.schedule with 'queries' and 'keys'}}
  %1 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
  return %1 : tensor<?x4x20xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @f(%q: tensor<?x4x20xf32>, %s: f32) -> tensor<?x4x20xf32> {
  // expected-error@+1 {{has a schedule whose 'keys' must be from 1 to 1024, found 1025}}
  %1 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<queries = 8, keys = 1025>} : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
  return %1 : tensor<?x4x20xf32>
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.schedule with #attn.linalg_tiles}}
module {
  func.func @fill(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
    %f0 = arith.constant 0.0 : f32
    %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    return %y : tensor<?x1024xf32>
  }
}

// -----

// expected-error@+1 {{has a schedule whose 'rows' must be from 1 to 1048576, found 1048577}}
module attributes {attn.schedule = #attn.linalg_tiles<rows = 1048577, columns = 8>} {
  func.func @fill(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
    %f0 = arith.constant 0.0 : f32
    %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    return %y : tensor<?x1024xf32>
  }
}
