// RUN: rapt-opt %s --attn-to-linalg --canonicalize | FileCheck %s

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A mask that keeps no key leaves nothing that reads keys or queries; each tile still writes its part of the result.
// CHECK-LABEL: @none
func.func @none(%q: tensor<?x3x32xf32>, %k: tensor<?x3x32xf32>, %scale: f32) -> tensor<?x3x32xf32> {
  // CHECK: scf.forall {{.*}} shared_outs(%[[OUT:.*]] = %{{.*}})
  // CHECK-NOT: math.exp
  // CHECK: %[[FIRST:.*]] = arith.minsi
  // CHECK-NOT: math.exp
  // CHECK: tensor.extract_slice %[[OUT]][%[[FIRST]], %{{.*}}, 0]
  // CHECK-NOT: math.exp
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%[[FIRST]], %{{.*}}, 0]
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles} : tensor<?x3x32xf32>, tensor<?x3x32xf32>, tensor<?x3x32xf32> -> tensor<?x3x32xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %never = arith.constant false
    attn.yield %never : i1
  }
  return %o : tensor<?x3x32xf32>
}
