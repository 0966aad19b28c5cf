// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 64, queries = [6, 1], task_keys = 256, task_queries = 12, wide_queries = 6>

// Keys and values are packed in bf16, VNNI-packed: half the bytes. Tiles have as many queries as with f32.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @vectors
  func.func @vectors(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // CHECK: tensor.empty({{.*}}) : tensor<12x?x32x64xbf16>
    // CHECK: tensor.empty({{.*}}) : tensor<12x2x?x64xbf16>
    // CHECK: attn_cpu.write_lines {{.*}} : vector<32xbf16> into tensor<1x1x32x64xbf16>
    // CHECK: vector.transfer_write {{.*}} : vector<64xbf16>, tensor<?x2x16x64xbf16>
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<6x64xf32>, tensor<{{[0-9?]+}}x32x64xbf16>, tensor<2x{{[0-9?]+}}x64xbf16>
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<?x64xf32>
    %o = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] {attn.schedule = #attention, attn_cpu.bf16_matmul} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#attention = #attn_cpu.attention_schedule<heads = 3, kernel = <columns = 32, matrix_rows = 16, rows = 14, vnni_rows = 13>, keys = 128, queries = [32, 16], rest_rows = 5, split_keys = 128, split_queries = 1, splits = 3, task_keys = 256, task_queries = 64, wide_queries = 14>

// AMX takes tiles of 32 or 16 queries, of which the last one may repeat, and no single queries. Blocks of a bf16 cache are read in place, two per KV
// block; sequences of one query convert them to f32 in registers.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%cache: tensor<?x1x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x64xf32>, %begin: tensor<?xi32>,
                   %past: tensor<?xi32>, %s: f32) -> tensor<?x4x3x64xf32> {
    // CHECK-NOT: arith.shli
    // CHECK: tensor.empty() : tensor<64x64xf32>
    // CHECK-NOT: arith.shli
    // CHECK: %[[KEYS:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<4x32x64xbf16>
    // CHECK: %[[VALUES:.*]] = tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<2x64x64xbf16>
    // CHECK: attn_cpu.attention_state %{{.*}}, %[[KEYS]], %[[VALUES]], {{.*}}, bf16_matmul} : tensor<32x64xf32>
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<32x64xf32>, tensor<2x32x64xbf16>, tensor<2x32x64xbf16>
    // CHECK: arith.minsi
    // CHECK: vector.transfer_read {{.*}} : tensor<1x64xf32>, vector<32xf32>
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<16x64xf32>
    // CHECK-NOT: tensor<1x64xf32>
    // CHECK: attn_cpu.attention_state {{.*}}, heads = 3 : i64} : tensor<3x64xf32>, tensor<2x32x64xbf16>
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention, attn_cpu.bf16_matmul}
      : tensor<?x4x3x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x4x3x64xf32>
    return %o : tensor<?x4x3x64xf32>
  }
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 32, matrix_rows = 16, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 64, queries = [32, 16, 1], task_keys = 256, task_queries = 64, wide_queries = 14>

// Queries cannot repeat where an extra operand has elements per query: fewer than 16 queries are tiles of one, with keys in f32.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @bias
  func.func @bias(%q: tensor<?x12x64xf32>, %e: tensor<?x?xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<32x64xf32>
    // CHECK: attn_cpu.attention_state {{.*}}, bf16_matmul} : tensor<16x64xf32>
    // CHECK: attn_cpu.attention_state {{.*}} {attn.schedule = #{{[a-z0-9]+}}} : tensor<?x64xf32>, tensor<{{[0-9?]+}}x32x64xbf16>
    %o = attn.attention %q, %q, %q, %s extras(%e : tensor<?x?xf32>) maps [#q, #k, #v, #o, #e] {attn.schedule = #attention, attn_cpu.bf16_matmul}
      : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
      score {
      ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
    return %o : tensor<?x12x64xf32>
  }
}
