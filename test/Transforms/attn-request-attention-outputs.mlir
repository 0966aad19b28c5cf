// RUN: rapt-opt --attn-request-attention-outputs="layers=1,4 heads=1,3 positions=128" %s | FileCheck %s
// RUN: rapt-opt --attn-request-attention-outputs="positions=64" %s | FileCheck %s --check-prefix=ALL

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A kernel of one loop over two layers, in a function that is called, and two layers of another function that follow it, in another
// loop with a step: layers 0 and 1, then 2 to 5. The output comes after the kernel's own, which keeps the names it has. A layer that nobody
// asks for goes nowhere: -1 is no layer of the tensor.
func.func private @block(%x: tensor<?x4x32xf32>) -> tensor<?x4x32xf32> {
  %s = arith.constant 0.125 : f32
  %y = attn.attention %x, %x, %x, %s maps [#q, #k, #v, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %y : tensor<?x4x32xf32>
}
// CHECK-LABEL: @layers
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x32xf32>) -> (tensor<?x4x32xf32> {attn.name = "y"}, tensor<?x2x2x128xf32> {attn.name = "attentions"})
// CHECK: %[[W:.*]] = tensor.empty(%{{.*}}) : tensor<?x2x2x128xf32>
// CHECK: scf.for %[[I:[a-z0-9]+]] = %c0{{.*}} to %c2{{.*}} step %c1{{.*}} iter_args(%{{.*}}, %[[W0:.*]] = %[[W]])
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[I]], %c1
// CHECK: %[[S0:.*]] = arith.select %[[ONE]], %c0{{.*}}, %c-1
// CHECK: %[[FOUR:.*]] = arith.cmpi eq, %[[I]], %c4
// CHECK: %[[S1:.*]] = arith.select %[[FOUR]], %c1{{.*}}, %[[S0]]
// CHECK: attn.attention {{.*}} weights(%[[W0]][%[[S1]]] heads [1, 3] : tensor<?x2x2x128xf32>)
// CHECK: scf.for %[[J:[a-z0-9]+]] = %c3{{.*}} to %c7{{.*}} step %c2
// CHECK: %[[FROM:.*]] = arith.subi %[[J]], %c3
// CHECK: %[[NTH:.*]] = arith.divui %[[FROM]], %c2
// CHECK: %[[PAIR:.*]] = arith.muli %[[NTH]], %c2
// CHECK: %[[FIRST:.*]] = arith.addi %[[PAIR]], %c2
// CHECK: arith.cmpi eq, %[[FIRST]], %c1
// CHECK: attn.attention {{.*}} weights(
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: arith.cmpi eq, %[[SECOND]], %c1
// CHECK: attn.attention {{.*}} weights(
// All layers and heads: no layer is told apart, and the slot is the number of the layer.
// ALL-LABEL: @layers
// ALL-SAME: tensor<?x6x4x64xf32> {attn.name = "attentions"})
// ALL: scf.for %[[I:[a-z0-9]+]] =
// ALL: attn.attention {{.*}} weights(%{{.*}}[%[[I]]] heads [0, 1, 2, 3] : tensor<?x6x4x64xf32>)
// ALL-NOT: arith.select
func.func @layers(%x: tensor<?x4x32xf32>) -> (tensor<?x4x32xf32> {attn.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%z = %x) -> tensor<?x4x32xf32> {
    %r = func.call @block(%z) : (tensor<?x4x32xf32>) -> tensor<?x4x32xf32>
    scf.yield %r : tensor<?x4x32xf32>
  }
  %t = scf.for %i = %c3 to %c7 step %c2 iter_args(%z = %y) -> tensor<?x4x32xf32> {
    %r = func.call @block(%z) : (tensor<?x4x32xf32>) -> tensor<?x4x32xf32>
    %u = func.call @block(%r) : (tensor<?x4x32xf32>) -> tensor<?x4x32xf32>
    scf.yield %u : tensor<?x4x32xf32>
  }
  return %t : tensor<?x4x32xf32>
}
