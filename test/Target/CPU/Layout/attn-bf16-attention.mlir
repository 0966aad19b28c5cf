// RUN: rapt-opt %s --attn-bf16-attention --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#ck = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // Keys of a bf16 cache, and bf16 keys of the caller.
  // CHECK-LABEL: @stored
  func.func @stored(%cache: tensor<?x1x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>,
                    %past: tensor<?xi32>, %k: tensor<?x4x64xbf16>, %s: f32) -> (tensor<?x4x64xf32>, tensor<?x4x64xf32>) {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
    // CHECK: attn.attention {{.*}} {attn_cpu.bf16_matmul}
    %0 = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #ck, #cv, #o]
      : tensor<?x4x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x4x64xf32>
    // CHECK: attn.attention {{.*}} {attn_cpu.bf16_matmul}
    %1 = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
    return %0, %1 : tensor<?x4x64xf32>, tensor<?x4x64xf32>
  }

  // Near misses: f32 keys of a cache, f32 keys in a program without matmuls, and an additive similarity.
  // CHECK-LABEL: @others
  // CHECK-NOT: bf16_matmul
  func.func @others(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>,
                    %past: tensor<?xi32>, %k: tensor<?x4x64xbf16>, %w: tensor<64xf32>, %s: f32)
      -> (tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32>) {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    %0 = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #ck, #cv, #o]
      : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
    %1 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    %2 = attn.attention %q, %k, %k, %s additive(%w : tensor<64xf32>) maps [#q, #k, #v, #o]
      : tensor<?x4x64xf32>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
    return %0, %1, %2 : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32>
  }
}

// -----

// A program whose matmuls all read VNNI-packed weights, for a target with AMX.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @encoder
  func.func @encoder(%x: tensor<?x64xf32>, %w: tensor<8x32x64xbf16>, %s: f32) -> tensor<?x4x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<8x32x64xbf16> -> tensor<?x256xf32>
    %q = attn.split_heads %0 : tensor<?x256xf32> -> tensor<?x4x64xf32>
    // CHECK: attn.attention {{.*}} {attn_cpu.bf16_matmul}
    %1 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    return %1 : tensor<?x4x64xf32>
  }
}

// -----

// Near misses: one of the matmuls is f32; a target without bf16 matmuls.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @mixed
  // CHECK-NOT: bf16_matmul
  func.func @mixed(%x: tensor<?x64xf32>, %w: tensor<8x32x64xbf16>, %f: tensor<2x64x32xf32>, %s: f32) -> tensor<?x4x64xf32> {
    %y = attn.linear %x, %f {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    %0 = attn.linear %y, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<8x32x64xbf16> -> tensor<?x256xf32>
    %q = attn.split_heads %0 : tensor<?x256xf32> -> tensor<?x4x64xf32>
    %1 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    return %1 : tensor<?x4x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @widened
  // CHECK-NOT: bf16_matmul
  func.func @widened(%q: tensor<?x4x64xf32>, %k: tensor<?x4x64xbf16>, %s: f32) -> tensor<?x4x64xf32> {
    %0 = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
    return %0 : tensor<?x4x64xf32>
  }
}
