// RUN: rapt-opt %s --attn-outline-parallel --split-input-file | FileCheck %s

// Constants are copied, other values captured; the last id runs fastest.
// CHECK-LABEL: func.func @fill
// CHECK-SAME: (%[[ENV:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x4xf32>, %[[N:.*]]: index)
func.func @fill(%env: !llvm.ptr, %x: memref<?x4xf32>, %n: index) attributes {attn.entry} {
  %f0 = arith.constant 0.0 : f32
  // CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %{{.*}}
  // CHECK: attn_host.parallel_for @fill.task0(%[[X]], %[[N]]) count %[[COUNT]] env %[[ENV]]
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

// -----

// Loops that do the same with other buffers share a task; another constant makes another task.
// CHECK-LABEL: func.func @equal
// CHECK: attn_host.parallel_for @equal.task0(%{{.*}}, %{{.*}})
// CHECK: attn_host.parallel_for @equal.task0(%{{.*}}, %{{.*}})
// CHECK: attn_host.parallel_for @equal.task2(%{{.*}}, %{{.*}})
// CHECK: func.func private @equal.task0
// CHECK-NOT: func.func private @equal.task1
// CHECK: func.func private @equal.task2
func.func @equal(%env: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {attn.entry} {
  %f1 = arith.constant 1.0 : f32
  %f2 = arith.constant 2.0 : f32
  scf.forall (%i) in (%n) {
    memref.store %f1, %x[%i] : memref<?xf32>
  }
  scf.forall (%i) in (%n) {
    memref.store %f1, %y[%i] : memref<?xf32>
  }
  scf.forall (%i) in (%n) {
    memref.store %f2, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// Regions are numbered by those that belong to an op.
module attributes {attn.model = {family = "any"}} {
// CHECK-LABEL: func.func @numbered
// CHECK-SAME: attn.dispatch = array<i64: 5, 3>
// CHECK: attn_host.parallel_for @numbered.task0{{.*}} {attn.dispatch = 0 : i64}
// CHECK: attn_host.parallel_for @numbered.task0{{.*}} {attn.dispatch = -1 : i64}
// CHECK: attn_host.parallel_for @numbered.task0{{.*}} {attn.dispatch = 1 : i64}
func.func @numbered(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry, attn.costs = {}} {
  %f1 = arith.constant 1.0 : f32
  scf.forall (%i) in (%n) {
    memref.store %f1, %x[%i] : memref<?xf32>
  } {attn.op = 5 : i64}
  scf.forall (%i) in (%n) {
    memref.store %f1, %x[%i] : memref<?xf32>
  }
  scf.forall (%i) in (%n) {
    memref.store %f1, %x[%i] : memref<?xf32>
  } {attn.op = 3 : i64}
  return
}
}
