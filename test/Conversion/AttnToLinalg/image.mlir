// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// One op over patches and their pixels: line and column of the patch, then channel, line and column within it.
// CHECK-LABEL: @patches
// CHECK-SAME: %[[P:.*]]: tensor<?x3x?x?xf32>
func.func @patches(%pixels: tensor<?x3x?x?xf32>) -> tensor<?x147xf32> {
  // CHECK: %[[H:.*]] = arith.divui
  // CHECK: %[[W:.*]] = arith.divui
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK: %[[LINE:.*]] = arith.divui %{{.*}}, %[[W]]
  // CHECK: arith.remui %{{.*}}, %[[W]]
  // CHECK: %[[IMAGE:.*]] = arith.divui %[[LINE]], %[[H]]
  // CHECK: arith.remui %[[LINE]], %[[H]]
  // CHECK: tensor.extract %[[P]][%[[IMAGE]], %{{.*}}, %{{.*}}, %{{.*}}]
  %0 = attn.patches %pixels size 7 : tensor<?x3x?x?xf32> -> tensor<?x147xf32>
  return %0 : tensor<?x147xf32>
}

// -----

// Sixteen neighbors, each clamped to the table, and the row of a token that is no patch as it is.
// CHECK-LABEL: @resize
// CHECK-SAME: %[[T:.*]]: tensor<17x50xbf16>
func.func @resize(%table: tensor<17x50xbf16>, %h: index, %w: index) -> tensor<?x50xf32> {
  // CHECK: %[[OTHER:.*]] = arith.cmpi ult
  // CHECK: tensor.extract %[[T]]
  // CHECK: %[[OWN:.*]] = arith.extf
  // CHECK-COUNT-2: math.floor
  // CHECK-COUNT-16: tensor.extract %[[T]]
  // CHECK-NOT: tensor.extract
  // CHECK: arith.select %[[OTHER]], %[[OWN]]
  %0 = attn.resize_positions %table, %h, %w grid [4, 4] : tensor<17x50xbf16> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// CHECK-LABEL: @tokens
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[CLASS:.*]]: tensor<1x50xf32>, %[[P:.*]]: tensor<?x50xf32>
func.func @tokens(%x: tensor<?x50xf32>, %class: tensor<1x50xf32>, %p: tensor<?x50xf32>) -> tensor<?x50xf32> {
  // CHECK: %[[PATCH:.*]] = tensor.extract %[[X]]
  // CHECK: %[[LEARNED:.*]] = arith.cmpi ult
  // CHECK: %[[OWN:.*]] = tensor.extract %[[CLASS]]
  // CHECK: %[[TOKEN:.*]] = arith.select %[[LEARNED]], %[[OWN]], %[[PATCH]]
  // CHECK: %[[POSITION:.*]] = tensor.extract %[[P]]
  // CHECK: arith.addf %[[POSITION]], %[[TOKEN]]
  %0 = attn.image_tokens %x, %class, %p : tensor<?x50xf32>, tensor<1x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// Without learned tokens there is nothing to choose, and nothing of an empty tensor is read.
// CHECK-LABEL: @no_tokens
func.func @no_tokens(%x: tensor<?x50xf32>, %none: tensor<0x50xf32>, %p: tensor<?x50xf32>) -> tensor<?x50xf32> {
  // CHECK-NOT: arith.select
  // CHECK-NOT: tensor.extract %{{.*}} : tensor<0x50xf32>
  // CHECK: return
  %0 = attn.image_tokens %x, %none, %p : tensor<?x50xf32>, tensor<0x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// One more offset than sequences.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[ROWS:.*]]: index, %[[LENGTH:.*]]: index
func.func @rows(%rows: index, %length: index) -> tensor<?xi32> {
  // CHECK: %[[OFFSETS:.*]] = arith.addi %[[ROWS]], %c1
  // CHECK: tensor.empty(%[[OFFSETS]]) : tensor<?xi32>
  // CHECK: %[[NTH:.*]] = linalg.index 0
  // CHECK: arith.muli %[[NTH]], %[[LENGTH]]
  %0 = attn.equal_rows %rows, %length : tensor<?xi32>
  return %0 : tensor<?xi32>
}
