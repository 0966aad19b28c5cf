// RUN: rapt-opt %s --attn-host-code-to-tasks --split-input-file | FileCheck %s

// Ops that touch buffers and follow each other are one task.
// CHECK-LABEL: func.func @together
// CHECK-NOT: memref.store
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%c0]
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%c1]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @together(%env: !llvm.ptr, %x: memref<8xi32>, %v: i32) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %v, %x[%c0] : memref<8xi32>
  memref.store %v, %x[%c1] : memref<8xi32>
  return
}

// -----

// A loop that holds a grid stays in the host program; another goes into a task as a whole.
// CHECK-LABEL: func.func @loops
// CHECK: scf.for %[[LAYER:.*]] =
// CHECK-NEXT: scf.forall (%{{.*}}) in (1) {
// CHECK-NEXT: scf.for
// CHECK: memref.load
// CHECK: memref.store
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) {
func.func @loops(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %layer = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %x[%layer] : memref<?xf32>
    }
    scf.forall (%i) in (%n) {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %x[%c0] : memref<?xf32>
    }
  }
  return
}

// -----

// Views and extents need no memory. A function that is no entry stays as it is.
// CHECK-LABEL: func.func @views
// CHECK-NOT: scf.forall
func.func @views(%env: !llvm.ptr, %x: memref<?xf32>) -> index attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %v = memref.subview %x[0] [4] [1] : memref<?xf32> to memref<4xf32>
  return %n : index
}
// CHECK-LABEL: func.func private @helper
// CHECK-NOT: scf.forall
func.func private @helper(%x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  memref.store %v, %x[%c0] : memref<?xf32>
  return
}

// -----

// An element of an array that is only read, and a number made of it, are read by each task. The loop over the array's other elements is a task as before.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT: memref.load
// CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) {
// CHECK-NEXT: %[[X:.*]] = memref.load %[[S:.*]][] : memref<f32>
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: memref.store %[[Y]]
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK-NEXT: %[[X:.*]] = memref.load %[[S]][] : memref<f32>
// CHECK-NEXT: memref.store %[[X]]
// CHECK: return
func.func @numbers(%env: !llvm.ptr, %s: memref<f32>, %y: memref<?xf32>, %n: index) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %x = memref.load %s[] : memref<f32>
  %square = arith.mulf %x, %x : f32
  scf.forall (%i) in (%n) {
    memref.store %square, %y[%i] : memref<?xf32>
  }
  memref.store %x, %y[%c0] : memref<?xf32>
  return
}
