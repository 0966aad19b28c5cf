// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>

// Keys are visited twice: for maximum and sum, then for the weights, which are written in place, in the layer's slice. A layer that the
// tensor lacks has no tasks. Keys that are not visited weigh 0.
// CHECK-LABEL: @weights
// CHECK-SAME: %[[W:.*]]: tensor<?x2x2x64xf32>, %[[LAYER:.*]]: index
func.func @weights(%w: tensor<?x2x2x64xf32>, %l: index, %q: tensor<?x4x20xf32>, %k: tensor<?x4x20xf32>, %s: f32) -> tensor<?x2x2x64xf32> {
  // CHECK-NOT: 0xFF800000
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[LAYER]], %c2
  // CHECK: %[[TASKS:.*]] = arith.select %[[INSIDE]]
  // CHECK: %[[HEADS:.*]] = arith.constant dense<[3, 1]> : tensor<2xi64>
  // CHECK: scf.forall (%{{.*}}, %[[NTH:.*]], %{{.*}}) in (%[[TASKS]], 2, %{{.*}}) shared_outs(%[[OUT:.*]] = %[[W]])
  // CHECK: tensor.extract %[[HEADS]][%[[NTH]]]
  // CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[OUT]][%{{.*}}, %[[LAYER]], %[[NTH]], 0]
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%[[PLACE]] :
  // CHECK: %[[STATE:.*]]:2 = scf.for {{.*}} -> (tensor<?xf32>, tensor<?xf32>)
  // CHECK: scf.for {{.*}} iter_args(%[[DEST:.*]] = %[[ZEROS]])
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[STATE]]#0, %[[STATE]]#1, %{{.*}} : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x?xi8>)
  // CHECK: tensor.insert_slice %{{.*}} into %[[DEST]]
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [3, 1] maps [#q, #k] : tensor<?x2x2x64xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %0 : tensor<?x2x2x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>

// Near miss: without a mask every key that is visited counts.
// CHECK-LABEL: @unmasked
func.func @unmasked(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x4x20xf32>, %k: tensor<?x4x20xf32>, %s: f32) -> tensor<?x1x1x64xf32> {
  // CHECK-NOT: i8
  // CHECK: return
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [3] maps [#q, #k] : tensor<?x1x1x64xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32>
  return %0 : tensor<?x1x1x64xf32>
}
