// RUN: rapt-opt %s --attn-to-linalg --split-input-file --verify-diagnostics

// Layouts and quantized elements are a target's: what only it can read has no neutral decomposition.

func.func @packed(%x: tensor<?x48xf32>, %w: tensor<10x48x32xf32>) -> tensor<?x320xf32> {
  // expected-error@+1 {{'attn.linear' op has no neutral decomposition: the weight is no matrix of floats}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x48xf32>, tensor<10x48x32xf32> -> tensor<?x320xf32>
  return %0 : tensor<?x320xf32>
}

// -----

func.func @table(%ids: tensor<?xi32>, %t: tensor<99x64x!attn.quantized<u8 group 0 axis 1>>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.embedding' op has no neutral decomposition: the table is no matrix of floats}}
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// -----

func.func @panels(%ids: tensor<?xi32>, %t: tensor<4x40x32xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.embedding' op has no neutral decomposition: the table is no matrix of floats}}
  %x = attn.embedding %ids, %t {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// -----

func.func @quantized(%x: tensor<?x64xf32>, %w: tensor<64x96x!attn.quantized<u4 group 32 axis 0>>) -> tensor<?x96xf32> {
  // expected-error@+1 {{'attn.quantize_rows' op has no neutral decomposition: none is known for it}}
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

func.func @recurrence(%x: tensor<?x256xf32>, %w: tensor<8x33x32xf32>, %begin: tensor<?xi32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.recurrence' op has no neutral decomposition: the weight is no matrix}}
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x256xf32>, tensor<8x33x32xf32>, tensor<?xi32>
  return %y : tensor<?x64xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @channels(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %v: tensor<?x4x?xf32>, %scale: f32) -> tensor<?x4x?xf32> {
  // expected-error@+1 {{'attn.attention' op has no neutral decomposition: the number of the value's channels is not static}}
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x?xf32> -> tensor<?x4x?xf32>
  return %o : tensor<?x4x?xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @two_caches(%cache: tensor<?x2x4x2x64x64xf32>, %other: tensor<?x2x4x2x32x64xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %keys, %v0 = attn.kv_view %cache[%layer], %table {layout = #attn.cache_rows<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x64x64xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  %k1, %values = attn.kv_view %other[%layer], %table {layout = #attn.cache_rows<positions = 32, keys = 64, values = 64>} : tensor<?x2x4x2x32x64xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{'attn.attention' op has no neutral decomposition: keys and values are in caches of different blocks}}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, b, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @exchanged(%cache: tensor<?x2x4x2x64x64xf32>, %layer: index, %table: tensor<?x?xi32>, %keys: tensor<?x?x4x64xf32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %k1, %values = attn.kv_view %cache[%layer], %table {layout = #attn.cache_rows<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x64x64xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{'attn.attention' op has no neutral decomposition: the map of keys or values of a cache is not (b, kv, hkv, channels)}}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

// -----

func.func @many_taps(%x: tensor<?x8xf32>, %w: tensor<65x8xf32>, %begin: tensor<?xi32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'attn.short_conv' op has no neutral decomposition: it has more than 64 taps}}
  %y = attn.short_conv %x, %w rows(%begin) : tensor<?x8xf32>, tensor<65x8xf32>, tensor<?xi32>
  return %y : tensor<?x8xf32>
}
