// RUN: rapt-opt %s --attn-to-linalg --split-input-file --verify-diagnostics

// The layout of a cache is a target's: without one, what reads or writes it is refused.

func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>)
    -> !attn.kv_cache<1 x 1 x 32, block = 64, f32> {
  // expected-error@+1 {{'attn.kv_append' op has no neutral decomposition: no layout of the cache is known}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : !attn.kv_cache<1 x 1 x 32, block = 64, f32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @cached(%cache: !attn.kv_cache<1 x 4 x 64, block = 64, f32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %keys, %values = attn.kv_view %cache[%layer], %table : !attn.kv_cache<1 x 4 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{'attn.attention' op has no neutral decomposition: no layout of the cache is known}}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @weights(%w: tensor<?x1x1x64xf32>, %l: index, %cache: !attn.kv_cache<1 x 4 x 64, block = 64, f32>, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x1x1x64xf32> {
  %keys, %values = attn.kv_view %cache[%l], %table : !attn.kv_cache<1 x 4 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{'attn.attention' op has no neutral decomposition: no layout of the cache is known}}
  %o, %0 = attn.attention %q, %keys, %keys, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) maps [#q, #k, #v, #o] {attn.schedule = #tiles} : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %0 : tensor<?x1x1x64xf32>
}

// -----

// Near miss: a cache that nothing reads is no matter.
func.func @unread(%cache: !attn.kv_cache<1 x 4 x 64, block = 64, f32>, %l: index, %table: tensor<?x?xi32>) {
  %keys, %values = attn.kv_view %cache[%l], %table : !attn.kv_cache<1 x 4 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  return
}
