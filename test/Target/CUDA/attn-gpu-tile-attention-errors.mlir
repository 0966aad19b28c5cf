// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @floats(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
  // expected-error@+1 {{'attn_gpu.attention_tile' op multiplies 'f32', 'f32' and 'f32', which mma does not}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @adds(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xbf16> {
  // expected-error@+1 {{'attn_gpu.attention_tile' op multiplies 'bf16', 'bf16' and 'bf16', which fma does not}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4, matmul = fma>>} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
  return %o : tensor<?x12x64xbf16>
}
