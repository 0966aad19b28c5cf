// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, kv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// CHECK-LABEL: @plain
func.func @plain(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xbf16>, %r: tensor<?xi32>, %s: f32) -> tensor<?x4x2x64xf32> {
  // CHECK: %[[R:.*]] = attn.attention_weights %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}}, %{{.*}} heads [0, 5]
  // CHECK-SAME: q_begin(%{{.*}} : tensor<?xi32>) kv_begin(%{{.*}} : tensor<?xi32>) maps [#{{.*}}, #{{.*}}]
  // CHECK-SAME: : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xbf16>
  // CHECK: return %[[R]] : tensor<?x4x2x64xf32>
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] q_begin(%r : tensor<?xi32>) kv_begin(%r : tensor<?xi32>) maps [#q, #k]
    : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xbf16>
  return %0 : tensor<?x4x2x64xf32>
}

// CHECK-LABEL: @everything
func.func @everything(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x?x2x16xf32>, %r: tensor<?xi32>, %p: tensor<?xi32>, %s: f32,
                      %e: tensor<?x?x?xf32>, %t: tensor<6x8xf32>, %v: tensor<16xf32>) -> tensor<?x1x1x64xf32> {
  // CHECK: attn.attention_weights {{.*}} heads [3] q_begin({{.*}}) q_offset({{.*}}) kv_length({{.*}}) extras(%{{.*}}, %{{.*}} : tensor<?x?x?xf32>, tensor<6x8xf32>) additive(%{{.*}} : tensor<16xf32>)
  // CHECK: score {
  // CHECK: attn.lookup
  // CHECK: mask {
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [3] q_begin(%r : tensor<?xi32>) q_offset(%p : tensor<?xi32>) kv_length(%p : tensor<?xi32>)
    extras(%e, %t : tensor<?x?x?xf32>, tensor<6x8xf32>) additive(%v : tensor<16xf32>) maps [#q, #c, #e, #t]
    : tensor<?x1x1x64xf32>, tensor<?x2x3x16xf32>, tensor<?x?x2x16xf32> score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %own: f32, %all: tensor<6x8xf32>):
      %y = attn.lookup %all[%h, %j] : tensor<6x8xf32> -> f32
      attn.yield %y : f32
    } mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %own: f32, %all: tensor<6x8xf32>):
      %z = arith.cmpi sle, %j, %i : index
      attn.yield %z : i1
    }
  return %0 : tensor<?x1x1x64xf32>
}
