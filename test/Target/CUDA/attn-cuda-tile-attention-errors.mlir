// RUN: rapt-opt %s --attn-cuda-tile-attention --verify-diagnostics --split-input-file

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @incomplete(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xbf16> {
  // expected-error@+1 {{has a schedule 'tensor_cores' without 'rows', 'keys' and 'warps'}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, queries = 1, tensor_cores = <keys = 64>>} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
  return %o : tensor<?x12x64xbf16>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @floats(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
  // expected-error@+1 {{has a schedule 'tensor_cores', but tensor cores take queries of bf16 or f16}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, queries = 1, tensor_cores = <keys = 64, rows = 64, warps = 4>>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}
