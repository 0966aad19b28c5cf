// RUN: rapt-opt %s --attn-set-target="target=cpu capabilities=vector_bytes=64,bf16_dot" --attn-cpu-schedule --attn-cpu-tile --split-input-file | FileCheck %s

// A norm that matmuls alone read writes its rows in bf16, once.
// CHECK-LABEL: @norm
func.func @norm(%x: tensor<?x64xf32>, %g: tensor<64xf32>, %w: tensor<1x32x64xbf16>) -> tensor<?x32xf32> {
  // CHECK: %[[ROWS:.*]] = scf.forall {{.*}} -> (tensor<?x64xbf16>)
  // CHECK: arith.truncf {{.*}} vector<32xf32> to vector<32xbf16>
  // CHECK: scf.forall (
  // CHECK-NOT: arith.truncf
  // CHECK: tensor.extract_slice %[[ROWS]]
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %n = attn.rms_norm %x, %g epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %r = attn_cpu.cast_rows %n {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<1x32x64xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Another reader, such as the residual stream after a norm, has the rows in f32 from the same tasks.
// CHECK-LABEL: @both
func.func @both(%x: tensor<?x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
  // CHECK: %[[ROWS:.*]]:2 = scf.forall {{.*}} -> (tensor<?x64xf32>, tensor<?x64xbf16>)
  // CHECK: vector.transfer_write {{.*}} vector<32xf32>
  // CHECK: arith.truncf
  // CHECK: vector.transfer_write {{.*}} vector<32xbf16>
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in {{.*}} shared_outs(%{{.*}} = %[[ROWS]]#0)
  // CHECK: tensor.extract_slice %[[ROWS]]#1
  %n = attn.layer_norm %x, %g, %b epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %r = attn_cpu.cast_rows %n {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w, (%n) {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.addf %sum, %old : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// A sum, as of an embedding and its positions.
// CHECK-LABEL: @sum
func.func @sum(%x: tensor<?x64xf32>, %p: tensor<?x64xf32>, %w: tensor<1x32x64xbf16>) -> tensor<?x32xf32> {
  // CHECK: scf.forall {{.*}} -> (tensor<?x64xbf16>)
  // CHECK: arith.addf
  // CHECK: arith.truncf
  %s = arith.addf %x, %p : tensor<?x64xf32>
  %r = attn_cpu.cast_rows %s {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<1x32x64xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// The epilogue of a matmul casts.
// CHECK-LABEL: @epilogue
func.func @epilogue(%x: tensor<?x64xbf16>, %v: tensor<2x32x64xbf16>, %b: tensor<64xf32>, %w: tensor<1x32x64xbf16>) -> tensor<?x32xf32> {
  // CHECK: scf.forall {{.*}} -> (tensor<?x64xbf16>)
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<12x32xbf16>)
  // CHECK: arith.maximumf
  // CHECK: arith.truncf {{.*}} f32 to bf16
  %h = attn.linear %x, %v, (%b) {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.maximumf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %r = attn_cpu.cast_rows %h {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<1x32x64xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Attention, whose heads are merged as they lie.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK-LABEL: @attention
func.func @attention(%q: tensor<?x2x32xf32>, %k: tensor<?x2x32xf32>, %v: tensor<?x2x32xf32>, %w: tensor<1x32x64xbf16>) -> tensor<?x32xf32> {
  // CHECK: scf.forall {{.*}} -> (tensor<?x2x32xbf16>)
  // CHECK: arith.truncf
  // CHECK: %[[HEADS:.*]] = scf.forall {{.*}} -> (tensor<?x2x32xbf16>)
  // CHECK: arith.truncf
  // CHECK: tensor.collapse_shape %[[HEADS]] {{.*}} into tensor<?x64xbf16>
  // CHECK: scf.forall (
  // CHECK-NOT: arith.truncf
  // CHECK: return
  %scale = arith.constant 0.125 : f32
  %a = attn.attention %q, %k, %v, %scale maps [#q, #v, #w, #o]
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  %m = attn.merge_heads %a : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %r = attn_cpu.cast_rows %m {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<1x32x64xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// A cast without the attribute is a loop of its own, which has the number of the next matmul.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: tensor<?x64xbf16>, %v: tensor<2x32x64xbf16>, %b: tensor<64xf32>, %w: tensor<1x32x64xbf16>) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  // CHECK: scf.forall {{.*}} -> (tensor<?x64xf32>)
  // CHECK: attn.op = 0
  // CHECK: scf.forall {{.*}} -> (tensor<?x64xbf16>)
  // CHECK: arith.truncf {{.*}} vector<32xf32> to vector<32xbf16>
  // CHECK: attn.op = 1
  // CHECK: scf.forall {{.*}} -> (tensor<?x32xf32>)
  // CHECK: attn.op = 1
  %h = attn.linear %x, %v, (%b) {attn.op = 0 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.maximumf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %r = attn_cpu.cast_rows %h : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {attn.op = 1 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<1x32x64xbf16> -> tensor<?x32xf32>
  return %h, %y : tensor<?x64xf32>, tensor<?x32xf32>
}
