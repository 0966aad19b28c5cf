// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#bq = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#bo = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, dv, hkv, q)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, kv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// CHECK-LABEL: @plain
func.func @plain(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xbf16>, %r: tensor<?xi32>, %s: f32) -> tensor<?x4x2x64xf32> {
  // CHECK: %{{.*}}, %[[R:.*]] = attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} q_begin(%{{.*}} : tensor<?xi32>) kv_begin(%{{.*}} : tensor<?xi32>)
  // CHECK-SAME: weights(%{{.*}}[%{{.*}}] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}]
  // CHECK-SAME: : tensor<?x2x3x16xf32>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x3x16xf32>{{ *$}}
  // CHECK: return %[[R]] : tensor<?x4x2x64xf32>
  %o, %0 = attn.attention %q, %k, %k, %s q_begin(%r : tensor<?xi32>) kv_begin(%r : tensor<?xi32>) weights(%w[%l] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o]
    : tensor<?x2x3x16xf32>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x3x16xf32>
  return %0 : tensor<?x4x2x64xf32>
}

// CHECK-LABEL: @everything
func.func @everything(%w: tensor<?x1x1x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x?x2x16xf32>, %r: tensor<?xi32>, %p: tensor<?xi32>, %s: f32,
                      %e: tensor<?x?x?xf32>, %t: tensor<6x8xf32>, %v: tensor<16xf32>) -> (tensor<?x2x3xf32>, tensor<?x1x1x64xf32>) {
  // CHECK: %{{.*}}, %[[LSE:.*]], %[[NEW:.*]] = attn.attention {{.*}} q_begin({{.*}}) q_offset({{.*}}) kv_length({{.*}}) extras(%{{.*}}, %{{.*}} : tensor<?x?x?xf32>, tensor<6x8xf32>) additive(%{{.*}} : tensor<16xf32>)
  // CHECK-SAME: weights(%{{.*}}[%{{.*}}] heads [3] : tensor<?x1x1x64xf32>) log_sum_exp maps [
  // CHECK: score {
  // CHECK: attn.lookup
  // CHECK: mask {
  %o, %lse, %0 = attn.attention %q, %k, %k, %s q_begin(%r : tensor<?xi32>) q_offset(%p : tensor<?xi32>) kv_length(%p : tensor<?xi32>)
    extras(%e, %t : tensor<?x?x?xf32>, tensor<6x8xf32>) additive(%v : tensor<16xf32>) weights(%w[%l] heads [3] : tensor<?x1x1x64xf32>) log_sum_exp maps [#q, #c, #cv, #o, #e, #t]
    : tensor<?x2x3x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32> -> tensor<?x2x3x16xf32> score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %own: f32, %all: tensor<6x8xf32>):
      %y = attn.lookup %all[%h, %j] : tensor<6x8xf32> -> f32
      attn.yield %y : f32
    } mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %own: f32, %all: tensor<6x8xf32>):
      %z = arith.cmpi sle, %j, %i : index
      attn.yield %z : i1
    }
  // CHECK: return %[[LSE]], %[[NEW]] : tensor<?x2x3xf32>, tensor<?x1x1x64xf32>
  return %lse, %0 : tensor<?x2x3xf32>, tensor<?x1x1x64xf32>
}

// Without a map log-sum-exp has the dims of the result in its order, wherever dv is among them. Queries need not be packed for it.
// CHECK-LABEL: @log_sum_exp
func.func @log_sum_exp(%q: tensor<3x?x2x16xf32>, %k: tensor<3x?x2x16xf32>, %s: f32) -> tensor<3x2x?xf32> {
  // CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} log_sum_exp maps
  // CHECK: return %[[LSE]] : tensor<3x2x?xf32>
  %o, %lse = attn.attention %q, %k, %k, %s log_sum_exp maps [#bq, #c, #cv, #bo] : tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32> -> tensor<3x16x2x?xf32>
  return %lse : tensor<3x2x?xf32>
}

// Its own map has the same dims in another order. A map that changes nothing is not printed.
// CHECK-LABEL: @mapped
func.func @mapped(%q: tensor<3x?x2x16xf32>, %k: tensor<3x?x2x16xf32>, %s: f32) -> (tensor<?x3x2xf32>, tensor<3x2x?xf32>) {
  // CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} log_sum_exp(#[[$LSE:.*]]) maps [#
  %o, %lse = attn.attention %q, %k, %k, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, b, hkv)>) maps [#bq, #c, #cv, #bo]
    : tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32> -> tensor<3x16x2x?xf32>
  // CHECK: %{{.*}}, %[[SAME:.*]] = attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} log_sum_exp maps [#
  %o2, %lse2 = attn.attention %q, %k, %k, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, q)>) maps [#bq, #c, #cv, #bo]
    : tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32> -> tensor<3x16x2x?xf32>
  // CHECK: return %[[LSE]], %[[SAME]] : tensor<?x3x2xf32>, tensor<3x2x?xf32>
  return %lse, %lse2 : tensor<?x3x2xf32>, tensor<3x2x?xf32>
}
