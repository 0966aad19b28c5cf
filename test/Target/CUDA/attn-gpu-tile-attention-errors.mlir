// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

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
  // expected-error@+1 {{has a schedule 'tensor_cores' of 0 tf32 for each f32; attention of f32 on 'tensor_cores' has 1 or 2, other 0}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, queries = 1, tensor_cores = <keys = 64, rows = 64, warps = 4>>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @adds(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xbf16> {
  // expected-error@+1 {{has a schedule 'multiply_adds' of 0 tf32 for each f32; attention of f32 on 'tensor_cores' has 1 or 2, other 0}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, multiply_adds = <keys = 64, rows = 64, warps = 4>, queries = 1>} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
  return %o : tensor<?x12x64xbf16>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @three(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
  // expected-error@+1 {{has a schedule 'tensor_cores' of 3 tf32 for each f32}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, queries = 1, tensor_cores = <keys = 32, rows = 64, tf32 = 3, warps = 2>>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @warpgroups(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
  // expected-error@+1 {{has a schedule 'wgmma', but it multiplies f32}}
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.schedule<keys = 8, multiply_adds = <keys = 32, rows = 64, warps = 4, wgmma = 1>, queries = 1>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}
