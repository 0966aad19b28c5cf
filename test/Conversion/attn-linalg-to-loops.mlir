// RUN: rapt-opt %s --attn-linalg-to-loops --split-input-file | FileCheck %s

// Loops are in the order of the op's own; its innermost goes along rows of the weight.
// CHECK-LABEL: @sums
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[W:.*]]: memref<64x80xf32>, %[[Y:.*]]: memref<?x80xf32>
func.func @sums(%x: memref<?x64xf32>, %w: memref<64x80xf32>, %y: memref<?x80xf32>) {
  // CHECK-NOT: linalg
  // CHECK: %[[ROWS:.*]] = memref.dim %[[X]]
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[ROWS]]
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c80
  // CHECK: memref.load %[[X]]
  // CHECK: memref.load %[[W]]
  // CHECK: memref.load %[[Y]]
  // CHECK: memref.store %{{.*}}, %[[Y]]
  linalg.generic {indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (m, n)>],
                  iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %w : memref<?x64xf32>, memref<64x80xf32>) outs(%y : memref<?x80xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// A copy becomes loops as well: memref.copy calls a library.
// CHECK-LABEL: @copy
func.func @copy(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
  // CHECK-NOT: memref.copy
  // CHECK-COUNT-2: scf.for
  // CHECK: memref.store
  memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
  return
}

// -----

// A copy of a buffer onto itself goes away, also where equal subviews name it.
// CHECK-LABEL: @same
func.func @same(%x: memref<8x80xf32>, %i: index) {
  // CHECK-NOT: memref.copy
  // CHECK-NOT: scf.for
  // CHECK: return
  %a = memref.subview %x[%i, 0] [1, 80] [1, 1] : memref<8x80xf32> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  %b = memref.subview %x[%i, 0] [1, 80] [1, 1] : memref<8x80xf32> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  memref.copy %a, %b : memref<1x80xf32, strided<[80, 1], offset: ?>> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  memref.copy %x, %x : memref<8x80xf32> to memref<8x80xf32>
  return
}

// -----

// Near miss: subviews at two offsets.
// CHECK-LABEL: @other
func.func @other(%x: memref<8x80xf32>, %i: index, %j: index) {
  // CHECK: scf.for
  // CHECK: memref.store
  %a = memref.subview %x[%i, 0] [1, 80] [1, 1] : memref<8x80xf32> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  %b = memref.subview %x[%j, 0] [1, 80] [1, 1] : memref<8x80xf32> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  memref.copy %a, %b : memref<1x80xf32, strided<[80, 1], offset: ?>> to memref<1x80xf32, strided<[80, 1], offset: ?>>
  return
}
