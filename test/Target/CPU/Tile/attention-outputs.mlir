// RUN: rapt-opt %s --attn-cpu-schedule --attn-cpu-tile --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Log-sum-exp uses the state of the result. A score region that returns the score keeps the running max in natural units.
// CHECK-LABEL: @log_sum_exp
func.func @log_sum_exp(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %r: tensor<?xi32>, %s: f32) -> (tensor<?x4x32xf32>, tensor<?x4xf32>) {
  // Tokens of no sequence have the log-sum-exp -infinity.
  // CHECK: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[REST:.*]] = scf.forall {{.*}} -> (tensor<?x4xf32>)
  // CHECK: tensor.insert %[[NONE]]
  // CHECK: scf.forall ({{.*}}) in ({{.*}}) shared_outs(%{{.*}} = %{{.*}}, %[[LSE:.*]] = %[[REST]]) -> (tensor<?x4x32xf32>, tensor<?x4xf32>)
  // CHECK: tensor.extract_slice %[[LSE]][%{{.*}}, %{{.*}}] [%{{.*}}, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  // CHECK: attn_cpu.attention_state {{.*}} score {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  // CHECK-NEXT: attn.yield %[[S]] : f32
  // CHECK: scf.for %[[ROW:[a-z0-9]+]] = {{.*}} -> (tensor<?x1xf32>)
  // CHECK-NEXT: %[[MAX:.*]] = tensor.extract %{{.*}}[%[[ROW]]] : tensor<12xf32>
  // CHECK-NEXT: %[[SUM:.*]] = tensor.extract %{{.*}}[%[[ROW]]] : tensor<12xf32>
  // CHECK-NEXT: %[[LOG:.*]] = math.log %[[SUM]]
  // CHECK: %[[ALL:.*]] = arith.addf %[[MAX]], %[[LOG]]
  // CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]]
  // CHECK: %[[X:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[ALL]]
  // CHECK: tensor.insert %[[X]] into %{{.*}}[%{{.*}}, %c0{{.*}}] : tensor<?x1xf32>
  %o, %lse = attn.attention %q, %k, %k, %s q_begin(%r : tensor<?xi32>) kv_begin(%r : tensor<?xi32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o, %lse : tensor<?x4x32xf32>, tensor<?x4xf32>
}

// Its own map has heads before queries.
// CHECK-LABEL: @mapped
func.func @mapped(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %r: tensor<?xi32>, %s: f32) -> tensor<4x?xf32> {
  // CHECK: %[[REST:.*]] = scf.forall {{.*}} -> (tensor<4x?xf32>)
  // CHECK: scf.forall ({{.*}}) in ({{.*}}) shared_outs(%{{.*}} = %{{.*}}, %[[LSE:.*]] = %[[REST]]) -> (tensor<?x4x32xf32>, tensor<4x?xf32>)
  // CHECK: tensor.extract_slice %[[LSE]][%{{.*}}, %{{.*}}] [1, %{{.*}}] [1, 1] : tensor<4x?xf32> to tensor<1x?xf32>
  // CHECK: tensor.insert %{{.*}} into %{{.*}}[%c0{{.*}}, %{{.*}}] : tensor<1x?xf32>
  %o, %lse = attn.attention %q, %k, %k, %s q_begin(%r : tensor<?xi32>) kv_begin(%r : tensor<?xi32>) log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q)>) maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %lse : tensor<4x?xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// The states of splits are combined in natural units, too; each query head of a group has an element of log-sum-exp.
// CHECK-LABEL: @splits
func.func @splits(%cache: tensor<?x2x4x2x64x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x32xf32>, %r: tensor<?xi32>, %p: tensor<?xi32>, %s: f32)
    -> (tensor<?x4x3x32xf32>, tensor<?x4x3xf32>) {
  // CHECK: attn_cpu.attention_merge {{.*}} {scored}
  // CHECK: tensor.insert %{{.*}} into %{{.*}}[%{{.*}}, %c0{{.*}}, %{{.*}}] : tensor<?x1x3xf32>
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 32, values = 32>} : tensor<?x2x4x2x64x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x32xf32>
  %o, %lse = attn.attention %q, %keys, %values, %s q_begin(%r : tensor<?xi32>) q_offset(%p : tensor<?xi32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x4x3x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x3x32xf32>
  return %o, %lse : tensor<?x4x3x32xf32>, tensor<?x4x3xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: attention weights have a grid of their own, and the result's needs no score region and no logarithm.
// CHECK-LABEL: @weights
// CHECK-SAME: %[[W:.*]]: tensor<?x2x2x64xf32>, %[[L:.*]]: index
func.func @weights(%w: tensor<?x2x2x64xf32>, %l: index, %q: tensor<?x4x32xf32>, %s: f32) -> (tensor<?x4x32xf32>, tensor<?x2x2x64xf32>) {
  // CHECK-NOT: score
  // CHECK-NOT: math.log
  // CHECK: scf.forall ({{.*}}) in (1, 2) shared_outs(%[[OUT:.*]] = %[[W]])
  // CHECK: %[[IN:.*]] = arith.andi
  // CHECK: %[[PLACE:.*]] = arith.select %[[IN]], %[[L]], %c0
  // CHECK: tensor.extract_slice %[[OUT]][%{{.*}}, %[[PLACE]], %{{.*}}, 0] [%{{.*}}, 1, 1, 64]
  // CHECK: math.exp
  %o, %new = attn.attention %q, %q, %q, %s weights(%w[%l] heads [3, 1] : tensor<?x2x2x64xf32>) maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o, %new : tensor<?x4x32xf32>, tensor<?x2x2x64xf32>
}
