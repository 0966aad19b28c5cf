// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// Heads are views: nothing is copied.
// CHECK-LABEL: @split
// CHECK-SAME: %[[X:.*]]: tensor<?x160xf32>
func.func @split(%x: tensor<?x160xf32>) -> (tensor<?x3x32xf32>, tensor<?x2x32xf32>) {
  // CHECK-NOT: linalg
  // CHECK: %[[Q:.*]] = tensor.extract_slice %[[X]][0, 0] [%{{.*}}, 96] [1, 1]
  // CHECK: tensor.expand_shape %[[Q]] {{\[\[0\], \[1, 2\]\]}} output_shape [%{{.*}}, 3, 32]
  // CHECK: %[[K:.*]] = tensor.extract_slice %[[X]][0, 96] [%{{.*}}, 64] [1, 1]
  // CHECK: tensor.expand_shape %[[K]] {{\[\[0\], \[1, 2\]\]}} output_shape [%{{.*}}, 2, 32]
  %q, %k = attn.split_heads %x : tensor<?x160xf32> -> tensor<?x3x32xf32>, tensor<?x2x32xf32>
  return %q, %k : tensor<?x3x32xf32>, tensor<?x2x32xf32>
}

// -----

// CHECK-LABEL: @merge
func.func @merge(%x: tensor<?x3x20xf32>) -> tensor<?x60xf32> {
  // CHECK-NOT: linalg
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[0\], \[1, 2\]\]}} : tensor<?x3x20xf32> into tensor<?x60xf32>
  %y = attn.merge_heads %x : tensor<?x3x20xf32> -> tensor<?x60xf32>
  return %y : tensor<?x60xf32>
}

// -----

// Two dynamic extents out of one are a copy: MLIR's views have at most one.
// CHECK-LABEL: @unpack
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[LENGTH:.*]]: index
func.func @unpack(%x: tensor<?x50xf32>, %length: index) -> tensor<?x?x50xf32> {
  // CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %[[LENGTH]]
  // CHECK: tensor.empty(%[[ROWS]], %[[LENGTH]])
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK: %[[FIRST:.*]] = arith.muli %[[ROW]], %[[LENGTH]]
  // CHECK: %[[NTH:.*]] = linalg.index 1
  // CHECK: %[[TOKEN:.*]] = arith.addi %[[FIRST]], %[[NTH]]
  // CHECK: tensor.extract %[[X]][%[[TOKEN]], %{{.*}}]
  %y = attn.unpack_rows %x, %length : tensor<?x50xf32> -> tensor<?x?x50xf32>
  return %y : tensor<?x?x50xf32>
}

// -----

// CHECK-LABEL: @column
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>
func.func @column(%x: tensor<?x50xf32>) -> tensor<?xf32> {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK: %[[SEVENTH:.*]] = arith.constant 7
  // CHECK: tensor.extract %[[X]][%[[ROW]], %[[SEVENTH]]]
  %y = attn.column %x[7] : tensor<?x50xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// The columns that count go one behind the other; columns that no input fills stay 0.
// CHECK-LABEL: @concat
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[Y:.*]]: tensor<?x32xf32>
func.func @concat(%x: tensor<?x64xf32>, %y: tensor<?x32xf32>) -> tensor<?x96xf32> {
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[X]][0, 0] [%{{.*}}, 33] [1, 1]
  // CHECK: %[[BEGUN:.*]] = tensor.insert_slice %[[FIRST]] into %[[ZEROS]][0, 0] [%{{.*}}, 33] [1, 1]
  // CHECK: %[[SECOND:.*]] = tensor.extract_slice %[[Y]][0, 0] [%{{.*}}, 32] [1, 1]
  // CHECK: tensor.insert_slice %[[SECOND]] into %[[BEGUN]][0, 33] [%{{.*}}, 32] [1, 1]
  %0 = attn.concat %x, %y columns [33, 32] width 96 : tensor<?x64xf32>, tensor<?x32xf32>
  return %0 : tensor<?x96xf32>
}
