// RUN: rapt-opt %s --attn-cast-activations --attn-cpu-fuse --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-cast-activations --attn-cpu-fuse --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS

// Casts of activations to bf16: ops that write their rows in bf16, and ops that do not.
// SAYS: [Passed] fuse-cast | Category:fusion | Fused="into attn.rms_norm, which makes its input"
// SAYS: [Passed] fuse-cast | Category:fusion | Fused="into arith.addf, which makes its input"
// SAYS: [Passed] fuse-cast | Category:fusion | Fused="into attn.linear, which makes its input"
// SAYS: [Passed] fuse-cast | Category:fusion | Fused="into attn.attention, which makes its input"
// SAYS: [Missed] fuse-cast | Category:fusion | Reason="it pads the rows with columns of zeros"
// SAYS: [Missed] fuse-cast | Category:fusion | Reason="the matmul that makes its rows has no epilogue"
// SAYS: [Missed] fuse-cast | Category:fusion | Reason="the op that makes its rows writes f32"
// SAYS: [Missed] fuse-cast | Category:fusion | Reason="its rows are read in f32, too"
// SAYS: [Missed] fuse-cast | Category:fusion | Reason="no op of the same block makes its rows"
// SAYS-NOT: {{.}}

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @written
  func.func @written(%x: tensor<?x64xf32>, %g: tensor<64xf32>, %q: tensor<?x2x32xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK-COUNT-4: attn_cpu.cast_rows {{.*}} {attn_cpu.fused_into = #attn_cpu.root<producer>}
    // CHECK-NOT: attn_cpu.cast_rows
    %scale = arith.constant 0.125 : f32
    %n = attn.rms_norm %x, %g epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %a = attn.linear %n, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    %s = arith.addf %a, %n : tensor<?x64xf32>
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

  // Near misses.
  // CHECK-LABEL: @apart
  func.func @apart(%x: tensor<?x36xf32>, %ids: tensor<?xi32>, %table: tensor<9x64xf32>, %v: tensor<2x18x64xbf16>, %w: tensor<2x32x64xbf16>, %g: tensor<64xf32>)
      -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK-NOT: attn_cpu.fused_into
    // CHECK-COUNT-4: attn_cpu.cast_rows
    // CHECK-NOT: attn_cpu.fused_into
    %c = arith.addf %x, %x : tensor<?x36xf32>
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
  // CHECK-LABEL: @argument
  func.func @argument(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK-NOT: attn_cpu.fused_into
    // CHECK: attn_cpu.cast_rows
    // CHECK-NOT: attn_cpu.fused_into
    %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}
