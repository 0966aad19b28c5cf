// RUN: rapt-opt %s --attn-cpu-tile --split-input-file --remarks-filter=fusion -o %t.mlir 2>&1 | FileCheck %s
// RUN: not grep -E 'attn\.(linear|linear_attention|short_conv|rms_norm|recurrence|concat|attention|select_rows)' %t.mlir

// Ops that no schedule of the CPU takes are lowered by their neutral decomposition; a remark tells why.

// CHECK: its neutral decomposition is compiled, since the weight is not in panels
func.func @not_packed(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since it needs columns of a multiple of 32, found 'tensor<?x50xf32>'
func.func @not_padded(%x: tensor<?x50xf32>, %w: tensor<50xf32>) -> tensor<?x50xf32> {
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x50xf32>, tensor<50xf32>
  return %y : tensor<?x50xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since its hidden size 50 is no multiple of 32
func.func @recurrence(%x: tensor<?x50xf32>, %w: tensor<50x50xf32>, %begin: tensor<?xi32>, %h: tensor<?x50xf32>) -> tensor<?x50xf32> {
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) : tensor<?x50xf32>, tensor<50x50xf32>, tensor<?xi32>, tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since its 50 value channels are no multiple of 32
func.func @linear_attention(%q: tensor<?x1x32xf32>, %v: tensor<?x1x50xf32>, %begin: tensor<?xi32>) -> tensor<?x1x50xf32> {
  %y = attn.linear_attention linear %q, %q, %v rows(%begin) : tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?x1x50xf32>, tensor<?xi32>
  return %y : tensor<?x1x50xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since its 50 channels are no multiple of 32
func.func @short_conv(%x: tensor<?x50xf32>, %w: tensor<4x50xf32>, %begin: tensor<?xi32>) -> tensor<?x50xf32> {
  %y = attn.short_conv %x, %w rows(%begin) : tensor<?x50xf32>, tensor<4x50xf32>, tensor<?xi32>
  return %y : tensor<?x50xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since it reaches 21 tokens back, and at most 16 are carried
func.func @wide(%x: tensor<?x32xf32>, %w: tensor<4x32xf32>, %begin: tensor<?xi32>) -> tensor<?x32xf32> {
  %y = attn.short_conv %x, %w dilation 7 rows(%begin) : tensor<?x32xf32>, tensor<4x32xf32>, tensor<?xi32>
  return %y : tensor<?x32xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since it needs two dims, the last one a static multiple of 32, found 'tensor<?x50xf32>'
func.func @concat(%x: tensor<?x50xf32>) -> tensor<?x100xf32> {
  %y = attn.concat %x, %x : tensor<?x50xf32>, tensor<?x50xf32>
  return %y : tensor<?x100xf32>
}

// -----

#attention = #attn.attention_tiles<keys = 64, queries = 16>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since its matmuls are bf16 dot products, and its cache is not bf16
func.func @not_pairs(%cache: tensor<?x2x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention, attn_cpu.bf16_matmul}
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

// -----

#attention = #attn.attention_tiles<keys = 64, queries = 16>

// Each reason why a pattern does not match is told.

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#x = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q)>
// CHECK: its neutral decomposition is compiled, since an extra operand of i1 has vectors of bits
func.func @extra(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %scale: f32, %e: tensor<?xi1>) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %scale extras(%e : tensor<?xi1>) maps [#q, #k, #v, #o, #x] {attn.schedule = #attention}
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

// -----

#attention = #attn.attention_tiles<keys = 64, queries = 16>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, dqk, q)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since query or result is transposed
func.func @transposed(%q: tensor<4x32x?xf32>, %k: tensor<?x4x32xf32>, %scale: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<4x32x?xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since columns are not static
func.func @columns(%state: tensor<?x?xf32>, %values: tensor<?x?xf32>, %rows: tensor<?xi32>) -> tensor<?x?xf32> {
  %0 = attn.update_rows %state, %values, %rows : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xi32>
  return %0 : tensor<?x?xf32>
}

// -----

#weights = #attn.attention_tiles<keys = 64, queries = 16>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since head dimensions are dynamic
func.func @weights(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x4x?xf32>, %v: tensor<?x4x32xf32>, %s: f32) -> (tensor<?x4xf32>, tensor<?x1x1x64xf32>) {
  %o, %lse, %0 = attn.attention %q, %q, %v, %s weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) log_sum_exp maps [#q, #k, #v, #o] {attn.schedule = #weights} : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %lse, %0 : tensor<?x4xf32>, tensor<?x1x1x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
// Near miss: an op without queries needs no schedule.
func.func @no_queries(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<0x4x32xf32>, %s: f32) -> (tensor<0x4xf32>, tensor<?x1x1x64xf32>) {
  %o, %lse, %0 = attn.attention %q, %q, %q, %s weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) log_sum_exp maps [#q, #k, #v, #o] {attn.schedule = #attention} : tensor<0x4x32xf32>, tensor<0x4x32xf32>, tensor<0x4x32xf32> -> tensor<0x4x32xf32>
  return %lse, %0 : tensor<0x4xf32>, tensor<?x1x1x64xf32>
}

// -----

#attention = #attn.attention_tiles<keys = 64, queries = 16>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since channels that fill no panel cannot be padded
func.func @marked(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %scale: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention, attn_cpu.neutral}
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

// -----

#attention = #attn.attention_tiles<keys = 64, queries = 16>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since head dimensions of a cache are not padded
func.func @unpadded_cache(%cache: tensor<?x2x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x40xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x40xf32> {
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 40, values = 40>} : tensor<?x2x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x40xf32>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x4x40xf32>, tensor<?x?x4x40xf32>, tensor<?x?x4x40xf32> -> tensor<?x4x40xf32>
  return %o : tensor<?x4x40xf32>
}

// -----

// CHECK: its neutral decomposition is compiled, since its state or its values are not f32
func.func @narrow_state(%s: tensor<?x32xbf16>, %v: tensor<?x32xf32>, %rows: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = attn.update_rows %s, %v, %rows : tensor<?x32xbf16>, tensor<?x32xf32>, tensor<?xi32>
  return %y : tensor<?x32xbf16>
}

// -----

#weights = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: its neutral decomposition is compiled, since its weights are not f32
func.func @narrow_weights(%w: tensor<?x1x1x64xf16>, %q: tensor<?x4x32xf32>, %begin: tensor<?xi32>, %layer: index, %scale: f32) -> tensor<?x1x1x64xf16> {
  %o, %new = attn.attention %q, %q, %q, %scale q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>)
    weights(%w[%layer] heads [0] : tensor<?x1x1x64xf16>) maps [#q, #k, #v, #o] {attn.schedule = #weights} : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %new : tensor<?x1x1x64xf16>
}
