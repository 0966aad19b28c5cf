// RUN: rapt-opt %s --attn-round-rows --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-round-rows --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows are made in no op of the same block"
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows are made in no op of the same block"
// SAYS: [Passed] fuse-rounding | Category:fusion | Fused=attn.rms_norm
// SAYS: [Passed] fuse-rounding | Category:fusion | Fused=attn.add
// SAYS: [Passed] fuse-rounding | Category:fusion | Fused=attn.linear
// SAYS: [Passed] fuse-rounding | Category:fusion | Fused=attn.merge_heads
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows get columns of zeros"
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows are of a product without an epilogue"
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows are made by an op that writes f32"
// SAYS: [Missed] fuse-rounding | Category:fusion | Reason="its rows are read otherwise, too"
// SAYS-NOT: {{.}}

// Two products of one input share its rounded rows, which are padded.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @shared
  func.func @shared(%x: tensor<?x35xf32>, %w: tensor<2x18x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK: %[[ROWS:.*]] = attn_cpu.cast_rows %arg0 : tensor<?x35xf32> -> tensor<?x64xbf16>
    // CHECK-NOT: attn_cpu.cast_rows
    // CHECK: attn.linear %[[ROWS]], %arg1 {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x18x64xbf16>
    // CHECK: attn.linear %[[ROWS]], %arg1
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x35xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    %1 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x35xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
  }

  // Near misses: f32, f16, and bf16 that is not in pairs.
  // CHECK-LABEL: @others
  func.func @others(%x: tensor<?x64xf32>, %a: tensor<2x64x32xf32>, %b: tensor<2x64x32xf16>, %c: tensor<64x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK-NOT: attn_cpu.cast_rows
    %0 = attn.linear %x, %a {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    %1 = attn.linear %x, %b {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf16> -> tensor<?x64xf32>
    %2 = attn.linear %x, %c : tensor<?x64xf32>, tensor<64x64xbf16> -> tensor<?x64xf32>
    return %0, %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
  }
}

// -----

// Tiles multiply pairs as well.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK: attn_cpu.cast_rows
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// Near miss: a target that widens.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @widened
  func.func @widened(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK-NOT: attn_cpu.cast_rows
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// Ops that cast the rows that they write, as the remarks say, and ops that do not.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @written
  func.func @written(%x: tensor<?x64xf32>, %g: tensor<64xf32>, %q: tensor<?x2x32xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    %scale = arith.constant 0.125 : f32
    %n = attn.rms_norm %x, %g epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    // CHECK-COUNT-4: attn_cpu.cast_rows
    %a = attn.linear %n, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    %s = attn.add %a, %n : tensor<?x64xf32>
    %h = attn.linear %s, %w, (%g) {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16>, (tensor<64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %i = attn.linear %h, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    %t = attn.attention %q, %q, %q, %scale maps [#q, #v, #w, #o]
      : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    %m = attn.merge_heads %t : tensor<?x2x32xf32> -> tensor<?x64xf32>
    %y = attn.linear %m, %w, (%i) {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %other: f32):
      %0 = arith.addf %sum, %other : f32
      attn.yield %0 : f32
    }
    return %y : tensor<?x64xf32>
  }

  // CHECK-LABEL: @apart
  func.func @apart(%x: tensor<?x36xf32>, %ids: tensor<?xi32>, %table: tensor<9x64xf32>, %v: tensor<2x18x64xbf16>, %w: tensor<2x32x64xbf16>, %g: tensor<64xf32>)
      -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK-COUNT-4: attn_cpu.cast_rows
    %c = attn.add %x, %x : tensor<?x36xf32>
    %a = attn.linear %c, %v {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x36xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    %b = attn.linear %a, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    %e = attn.embedding %ids, %table : tensor<?xi32>, tensor<9x64xf32> -> tensor<?x64xf32>
    %h = attn.linear %e, %w, (%g) {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16>, (tensor<64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %d = attn.linear %h, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %b, %h, %d : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
  }
}
