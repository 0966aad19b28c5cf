// RUN: rapt-opt %s --attn-generic-schedule --attn-to-linalg --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

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
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [3, 1] : tensor<?x2x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
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
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: without a mask every key that is visited counts.
// CHECK-LABEL: @unmasked
func.func @unmasked(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x4x20xf32>, %k: tensor<?x4x20xf32>, %s: f32) -> tensor<?x1x1x64xf32> {
  // CHECK-NOT: i8
  // CHECK: return
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
  return %0 : tensor<?x1x1x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv, hkv)>

// Log-sum-exp is made of the state that the result is made of, -infinity where the sum is 0, and has no dim of channels. Tokens of no
// sequence have no keys.
// CHECK-LABEL: @log_sum_exp
func.func @log_sum_exp(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %r: tensor<?xi32>, %s: f32) -> tensor<?x4xf32> {
  // CHECK: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[INIT:.*]] = linalg.fill ins(%[[NONE]] : f32) outs(%{{.*}} : tensor<?x4xf32>)
  // CHECK: scf.forall ({{.*}}) in ({{.*}}) shared_outs(%[[O:.*]] = %{{.*}}, %[[LSE:.*]] = %[[INIT]])
  // CHECK: %[[STATE:.*]]:3 = scf.for {{.*}} -> (tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>)
  // CHECK: %[[PART:.*]] = tensor.extract_slice %[[LSE]][%[[Q:.*]], %[[H:.*]]] [%{{.*}}, 1]
  // CHECK: linalg.generic {{.*}} ins(%[[STATE]]#1, %[[STATE]]#2 : tensor<?xf32>, tensor<?xf32>) outs(%[[PART]] : tensor<?x1xf32>)
  // CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %[[SUM:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]]
  // CHECK: %[[LOG:.*]] = math.log %[[SUM]]
  // CHECK: %[[ALL:.*]] = arith.addf %[[MAX]], %[[LOG]]
  // CHECK: arith.select %[[EMPTY]], %{{.*}}, %[[ALL]]
  %o, %lse = attn.attention %q, %k, %k, %s q_begin(%r : tensor<?xi32>) kv_begin(%r : tensor<?xi32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x32x4xf32>
  return %lse : tensor<?x4xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Log-sum-exp by a map of its own.
// CHECK-LABEL: @mapped
func.func @mapped(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %s: f32) -> tensor<4x?xf32> {
  // CHECK: scf.forall ({{.*}}) in ({{.*}}) shared_outs(%{{.*}} = %{{.*}}, %[[LSE:.*]] = %{{.*}}) -> (tensor<?x4x32xf32>, tensor<4x?xf32>)
  // CHECK: tensor.extract_slice %[[LSE]][%{{.*}}, %{{.*}}] [1, %{{.*}}]
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x?xf32>)
  %o, %lse = attn.attention %q, %k, %k, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q)>) maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %lse : tensor<4x?xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: no queries have no log-sum-exp, and change no weights.
// CHECK-LABEL: @no_queries
// CHECK-SAME: %[[W:.*]]: tensor<?x1x1x64xf32>
func.func @no_queries(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<0x4x32xf32>, %k: tensor<?x4x32xf32>, %s: f32) -> (tensor<0x4xf32>, tensor<?x1x1x64xf32>) {
  // CHECK: %[[LSE:.*]] = tensor.empty() : tensor<0x4xf32>
  // CHECK-NOT: scf.forall
  // CHECK: return %[[LSE]], %[[W]]
  %o, %lse, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<0x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<0x4x32xf32>
  return %lse, %0 : tensor<0x4xf32>, tensor<?x1x1x64xf32>
}
