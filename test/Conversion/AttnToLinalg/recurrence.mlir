// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// Tiles of 8 rows, or of one; at least one tile. A step reads the weight once for all rows: a loop over the panels of the
// state, one over the parts, then the cell of each row that still has tokens.
// CHECK: affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x256xf32>, %w: tensor<8x33x32xbf16>, %begin: tensor<?xi32>, %h: tensor<?x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[TILES:.*]] = affine.apply #{{.*}}()[%{{.*}}]
  // CHECK: %[[GRID:.*]] = arith.maxsi %[[TILES]]
  // CHECK: scf.forall (%{{.*}}) in (%[[GRID]])
  // CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<8x33xf32>, tensor<33x32xbf16>)
  // CHECK: %[[END:.*]] = arith.cmpi slt
  // CHECK: %[[TRIPS:.*]] = arith.index_castui %[[END]] : i1 to index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[TRIPS]]
  // CHECK-COUNT-3: math.exp
  // CHECK: math.tanh
  // CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<1x33xf32>, tensor<33x32xbf16>)
  // CHECK: scf.forall.in_parallel
  // CHECK-COUNT-3: tensor.parallel_insert_slice
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %h) : tensor<?x256xf32>, tensor<8x33x32xbf16>, tensor<?xi32>, tensor<?x64xf32>, tensor<?x64xf32>
  return %y, %last#1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// A weight of whole panels may lie in rows.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x32xf32>, %w: tensor<32x32xf32>, %begin: tensor<?xi32>, %h: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: tensor.extract_slice %{{.*}}[0, %{{.*}}] [32, 32] [1, 1] : tensor<32x32xf32> to tensor<32x32xf32>
  // CHECK: linalg.matmul
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) reverse : tensor<?x32xf32>, tensor<32x32xf32>, tensor<?xi32>, tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// The state is the destination.
// CHECK-LABEL: @update
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x2x64xf32>
func.func @update(%s: tensor<?x2x64xf32>, %layer: index, %v: tensor<?x64xf32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf32> {
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[S]])
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}, 0] [1, 1, 64]
  %0 = attn.update_rows %s[%layer], %v, %rows : tensor<?x2x64xf32>, tensor<?x64xf32>, tensor<?xi32>
  return %0 : tensor<?x2x64xf32>
}

// -----

// The second input starts inside of a panel, so its last one may lie across the end; the first does not.
// CHECK-LABEL: @concat
func.func @concat(%x: tensor<?x64xf32>, %y: tensor<?x32xf32>) -> tensor<?x96xf32> {
  // CHECK: vector.transfer_write %{{.*}} {in_bounds = [true]} : vector<32xf32>, tensor<96xf32>
  // CHECK: vector.transfer_write %{{.*}} {in_bounds = [true]} : vector<32xf32>, tensor<96xf32>
  // CHECK: vector.transfer_write %{{.*}}] : vector<32xf32>, tensor<96xf32>
  %0 = attn.concat %x, %y columns [33, 32] : tensor<?x64xf32>, tensor<?x32xf32>
  return %0 : tensor<?x96xf32>
}
