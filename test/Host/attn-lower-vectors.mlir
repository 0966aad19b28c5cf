// RUN: rapt-opt %s --attn-lower-vectors | FileCheck %s

// Transfers in bounds become stores, and a view becomes an offset.
// CHECK-LABEL: func @rows
// CHECK-SAME: (%[[BUFFER:.*]]: memref<8x64xf32>, %[[ROWS:.*]]: vector<2x16xf32>, %[[AT:.*]]: index)
// CHECK-NOT: memref.subview
// CHECK-DAG: %[[VIEW:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%{{.*}}], sizes: [2, 16], strides: [64, 1]
// CHECK-DAG: %[[FIRST:.*]] = vector.extract %[[ROWS]][0]
// CHECK-DAG: %[[SECOND:.*]] = vector.extract %[[ROWS]][1]
// CHECK-DAG: vector.store %[[FIRST]], %[[VIEW]][%c0{{.*}}, %c0{{.*}}]
// CHECK-DAG: vector.store %[[SECOND]], %[[VIEW]][%c1{{.*}}, %c0{{.*}}]
// CHECK-NOT: vector.transfer_write
// CHECK: return
func.func @rows(%buffer: memref<8x64xf32>, %rows: vector<2x16xf32>, %at: index) {
  %c0 = arith.constant 0 : index
  %view = memref.subview %buffer[%at, 32] [2, 16] [1, 1] : memref<8x64xf32> to memref<2x16xf32, strided<[64, 1], offset: ?>>
  vector.transfer_write %rows, %view[%c0, %c0] {in_bounds = [true, true]} : vector<2x16xf32>, memref<2x16xf32, strided<[64, 1], offset: ?>>
  return
}

// Lanes that may be behind the buffer's end are masked.
// CHECK-LABEL: func @edge
// CHECK: %[[MASK:.*]] = arith.cmpi
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK-NOT: vector.transfer_read
// CHECK: return
func.func @edge(%buffer: memref<?xf32>, %at: index) -> vector<16xf32> {
  %zero = arith.constant 0.0 : f32
  %read = vector.transfer_read %buffer[%at], %zero : memref<?xf32>, vector<16xf32>
  return %read : vector<16xf32>
}

// A slice and an interleave become shuffles.
// CHECK-LABEL: func @shuffles
// CHECK: vector.shuffle
// CHECK-NOT: vector.extract_strided_slice
// CHECK: return
func.func @shuffles(%x: vector<32xf32>) -> vector<16xf32> {
  %slice = vector.extract_strided_slice %x {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
  return %slice : vector<16xf32>
}

// A dim that is cut into several of dynamic extent is a cast, whose strides follow from the extents.
// CHECK-LABEL: func @pixels
// CHECK-SAME: index, %[[HEIGHT:[^:]*]]: index, %[[WIDTH:[^:]*]]: index)
// CHECK: %[[IMAGE:.*]] = affine.apply #{{.*}}()[%[[HEIGHT]], %[[WIDTH]]]
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}, %[[HEIGHT]], %[[WIDTH]], 8], strides: [%[[IMAGE]], %{{.*}}, 8, 1]
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @pixels(%buffer: memref<?x8xf32>, %images: index, %height: index, %width: index) -> memref<?x?x?x8xf32> {
  %pixels = memref.expand_shape %buffer [[0, 1, 2], [3]] output_shape [%images, %height, %width, 8] : memref<?x8xf32> into memref<?x?x?x8xf32>
  return %pixels : memref<?x?x?x8xf32>
}
