// RUN: rapt-opt %s --attn-lower-copies | FileCheck %s

module attributes {attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>>} {
// CHECK-LABEL: @strided
func.func @strided(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: memref.load %arg0
  // CHECK: memref.store %{{.*}}, %arg1
  // CHECK-NOT: memref.copy
  memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
  return
}

// CHECK-LABEL: @onto_itself
func.func @onto_itself(%x: memref<8xf32>) {
  %a = memref.subview %x[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  %b = memref.subview %x[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  // CHECK-NOT: scf.for
  // CHECK: return
  memref.copy %a, %b : memref<4xf32, strided<[1], offset: 2>> to memref<4xf32, strided<[1], offset: 2>>
  return
}

// Rows of a multiple of 32 elements are copied 32 elements at a time.
// CHECK-LABEL: @panels
func.func @panels(%x: memref<8x64xf32, strided<[128, 1], offset: ?>>, %y: memref<8x64xf32, strided<[?, 1], offset: ?>>) {
  // CHECK: scf.for {{.*}} to %c8 step %c1
  // CHECK: scf.for {{.*}} to %c64 step %c32
  // CHECK: %[[PANEL:.*]] = vector.load %arg0{{.*}}, vector<32xf32>
  // CHECK: vector.store %[[PANEL]], %arg1{{.*}}, vector<32xf32>
  memref.copy %x, %y : memref<8x64xf32, strided<[128, 1], offset: ?>> to memref<8x64xf32, strided<[?, 1], offset: ?>>
  return
}

// Long rows are prefetched in source and destination: 2 KiB ahead, two cache lines per 32 elements.
// CHECK-LABEL: @long
func.func @long(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  // CHECK: scf.for %[[I:.*]] = %c0 to %c1024 step %c32
  // CHECK: %[[FIRST:.*]] = arith.addi %[[I]], %c512
  // CHECK: memref.prefetch %arg0[%[[FIRST]]], read
  // CHECK: %[[SECOND:.*]] = arith.addi %[[I]], %c528
  // CHECK: memref.prefetch %arg0[%[[SECOND]]], read
  // CHECK-COUNT-2: memref.prefetch %arg1{{.*}}, write
  // CHECK: vector.load
  memref.copy %x, %y : memref<1024xf32> to memref<1024xf32>
  return
}

// Near miss: shorter rows.
// CHECK-LABEL: @short
func.func @short(%x: memref<992xf32>, %y: memref<992xf32>) {
  // CHECK-NOT: memref.prefetch
  // CHECK: vector.store
  memref.copy %x, %y : memref<992xf32> to memref<992xf32>
  return
}

// Near miss: rows that are no multiple of 32 elements.
// CHECK-LABEL: @ragged
func.func @ragged(%x: memref<8x48xf32>, %y: memref<8x48xf32>) {
  // CHECK-NOT: vector.load
  // CHECK: memref.load %arg0
  memref.copy %x, %y : memref<8x48xf32> to memref<8x48xf32>
  return
}

// Near miss: elements of one side are not contiguous.
// CHECK-LABEL: @apart
func.func @apart(%x: memref<8x32xf32>, %y: memref<8x32xf32, strided<[64, 2]>>) {
  // CHECK-NOT: vector.load
  // CHECK: memref.load %arg0
  memref.copy %x, %y : memref<8x32xf32> to memref<8x32xf32, strided<[64, 2]>>
  return
}
}
