// RUN: rapt-opt --attn-request-attention-outputs="weights=false log-sum-exp" %s | FileCheck %s
// RUN: rapt-opt --attn-request-attention-outputs="weights=false log-sum-exp layers=0,3 heads=0,2,3,5" %s | FileCheck %s --check-prefix=SOME

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, dv, g, q)>

// A loop carries log-sum-exp of all layers, and each writes its own, whatever the loop counts. A transposed one is transposed back.
// CHECK-LABEL: @stack
// CHECK-SAME: -> (tensor<2x32x3x?xf32>, tensor<?x4x6xf32> {attn.dims = ["n"], attn.name = "log_sum_exp"})
// CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x4x6xf32>
// CHECK: scf.for %[[I:.*]] = %[[FROM:.*]] to %{{.*}} step %[[STEP:.*]] iter_args({{.*}}, %[[ALL:.*]] = %[[EMPTY]])
// CHECK: %[[DONE:.*]] = arith.subi %[[I]], %[[FROM]]
// CHECK: %[[LAYER:.*]] = arith.divui %[[DONE]], %[[STEP]]
// CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention {{.*}} log_sum_exp
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[LSE]] {{\[}}[0], [1, 2]]
// CHECK: %[[NEW:.*]] = tensor.insert_slice %[[FLAT]] into %[[ALL]][0, %[[LAYER]], 0] [%{{.*}}, 1, 6] [1, 1, 1]
// CHECK: scf.yield %{{.*}}, %[[NEW]]
// CHECK: linalg.transpose ins(%{{.*}} : tensor<2x3x?xf32>) outs(%{{.*}} : tensor<?x2x3xf32>) permutation = [2, 0, 1]
// CHECK: %[[BOTH:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}#1[0, %{{.*}}, 0]
// CHECK: return %{{.*}}, %[[BOTH]]

// A layer that is not asked for writes no rows, and heads that follow one another are one slice.
// SOME-LABEL: @stack
// SOME-SAME: tensor<?x2x4xf32> {attn.dims = ["n"], attn.name = "log_sum_exp"})
// SOME: scf.for
// SOME: %[[LSE:.*]] = tensor.collapse_shape
// SOME: %[[HERE:.*]] = arith.cmpi ne
// SOME: %[[ROWS:.*]] = arith.select %[[HERE]], %{{.*}}, %{{.*}} : index
// SOME: %[[SLOT:.*]] = arith.select %[[HERE]]
// SOME: tensor.extract_slice %[[LSE]][0, 0] [%[[ROWS]], 1]
// SOME: tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[SLOT]], 0] [%[[ROWS]], 1, 1]
// SOME: tensor.extract_slice %[[LSE]][0, 2] [%[[ROWS]], 2]
// SOME: tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[SLOT]], 1] [%[[ROWS]], 1, 2]
// SOME: tensor.extract_slice %[[LSE]][0, 5] [%[[ROWS]], 1]
// SOME: tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[SLOT]], 3] [%[[ROWS]], 1, 1]
// SOME: scf.yield
func.func @stack(%q: tensor<?x2x3x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x2x32xf32> {attn.name = "k"}) -> tensor<2x32x3x?xf32> {
  %s = arith.constant 0.125 : f32
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c11 = arith.constant 11 : index
  %x = scf.for %i = %c5 to %c11 step %c2 iter_args(%z = %q) -> tensor<?x2x3x32xf32> {
    %y = attn.attention %z, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    scf.yield %y : tensor<?x2x3x32xf32>
  }
  %o = attn.attention %x, %k, %k, %s maps [#q, #k, #v, #t] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<2x32x3x?xf32>
  return %o : tensor<2x32x3x?xf32>
}
