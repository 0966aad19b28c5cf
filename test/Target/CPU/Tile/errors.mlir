// RUN: rapt-opt %s --attn-cpu-schedule --attn-cpu-tile --verify-diagnostics --split-input-file

// Quantized elements that no pass has laid out, or that come from elsewhere than a parameter.

func.func @table(%ids: tensor<?xi32>, %t: tensor<99x64x!attn.quantized<u8 group 0 axis 1>>) -> tensor<?x64xf32> {
  // expected-error@+1 {{has no tiled form: it reads 'tensor<99x64x!attn.quantized<u8 group 0 axis 1>>', which is no parameter in panels}}
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// -----

attn.parameter @w : tensor<64x96x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">]
func.func @weight(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<64x96x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has no tiled form: it reads 'tensor<64x96x!attn.quantized<u4 group 32 axis 0>>', which is no parameter in panels}}
  %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

attn.parameter @w : tensor<3x64x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 96], interleave = 8>, offset = 0 : i64, stride = 3456 : i64}
func.func @rows(%q: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>) -> tensor<?x96xf32> {
  %w = attn.parameter_slice @w : tensor<3x64x32x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has no tiled form: it reads 'tensor<?x64x!attn.quantized<s8 group 32 axis 1>>', which is no result of attn.quantize_rows}}
  %y = attn.linear %q, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<3x64x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @dynamic(%q: tensor<?x4x?xf32>, %k: tensor<?x4x?xf32>, %scale: f32) -> tensor<?x4x?xf32> {
  // expected-error@+1 {{has no tiled form: head dimensions are dynamic}}
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o]
    : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32> -> tensor<?x4x?xf32>
  return %o : tensor<?x4x?xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @cache(%cache: !attn.kv_cache<1 x 4 x 64, block = 64, f32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %keys, %values = attn.kv_view %cache[%layer], %table : !attn.kv_cache<1 x 4 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{has no tiled form: keys and values are not of one materialized cache}}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o]
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

// -----

func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>)
    -> !attn.kv_cache<1 x 1 x 32, block = 64, f32> {
  // expected-error@+1 {{has no tiled form: the cache is not memory in panels}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : !attn.kv_cache<1 x 1 x 32, block = 64, f32>
}

// -----

// The pool has whole panels of each head: 64 channels.
func.func @narrow(%c: tensor<?x1x1x2x128x32xf32>, %l: index, %k: tensor<?x1x40xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x1x1x2x128x32xf32> {
  // expected-error@+1 {{has no tiled form: keys and values do not have the padding of the cache}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t) {layout = #attn_cpu.cache_panels<positions = 64, keys = 40, values = 40>}
    : tensor<?x1x1x2x128x32xf32>, tensor<?x1x40xf32>, tensor<?x1x40xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : tensor<?x1x1x2x128x32xf32>
}
