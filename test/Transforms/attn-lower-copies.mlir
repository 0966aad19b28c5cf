// RUN: rapt-opt %s --attn-lower-copies | FileCheck %s

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
