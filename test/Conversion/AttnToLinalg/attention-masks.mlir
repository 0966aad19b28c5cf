// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#of_key = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>

// A block of which the mask drops all keys changes no state: the largest element along its keys tells that.
// CHECK-LABEL: @kinds
func.func @kinds(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %kinds: tensor<?xi8>, %s: f32) -> tensor<?x32xf32> {
  // CHECK: scf.forall
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
  // CHECK: %[[RANGE:.*]]:2 = scf.for {{.*}} -> (index, index) {
  // CHECK: arith.minsi
  // CHECK: arith.maxsi
  // CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[RANGE]]#1, %{{.*}} : index
  // CHECK: %[[STATE:.*]]:3 = scf.if %[[SOME]]
  // CHECK: math.exp
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[ACC]], %[[MAX]], %[[SUM]]
  // CHECK: scf.yield %[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2
  %o = attn.attention %q, %k, %k, %s extras(%kinds : tensor<?xi8>) maps [#q, #k, #v, #o, #of_key] {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>}
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %kind: i8):
      %three = arith.constant 3 : i8
      %keep = arith.cmpi sge, %kind, %three : i8
      attn.yield %keep : i1
    }
  return %o : tensor<?x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>

// Near miss: the loop's bounds are those of a causal mask.
// CHECK-LABEL: @causal
// CHECK-NOT: scf.if
// CHECK: return
func.func @causal(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %s: f32) -> tensor<?x32xf32> {
  %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>}
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x32xf32>
}
