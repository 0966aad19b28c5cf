// RUN: rapt-opt %s --attn-outline-parallel | FileCheck %s

// Constants are copied, other values captured; the last id runs fastest.
// CHECK-LABEL: func.func @fill
// CHECK-SAME: (%[[ENV:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x4xf32>, %[[N:.*]]: index)
func.func @fill(%env: !llvm.ptr, %x: memref<?x4xf32>, %n: index) attributes {attn.entry} {
  %f0 = arith.constant 0.0 : f32
  // CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %{{.*}}
  // CHECK: attn.parallel_for @fill.task0(%[[X]], %[[N]]) count %[[COUNT]] env %[[ENV]]
  scf.forall (%i, %j) in (%n, 4) {
    memref.store %f0, %x[%i, %j] : memref<?x4xf32>
  }
  return
}
// CHECK: func.func private @fill.task0(%[[Y:.*]]: memref<?x4xf32>, %{{.*}}: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: index)
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: scf.for %[[AT:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[J:.*]] = arith.remui %[[AT]], %{{.*}}
// CHECK: %[[I:.*]] = arith.divui %[[AT]], %{{.*}}
// CHECK: memref.store %[[ZERO]], %[[Y]][%[[I]], %[[J]]]
