// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// A counting sort: numbers of pairs, groups, indices.
// CHECK-LABEL: @group_rows
func.func @group_rows(%e: tensor<?x2xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>) {
  // CHECK-NOT: scf.forall
  // CHECK-COUNT-7: scf.for
  // CHECK-NOT: scf.for
  // CHECK: return
  %r, %p, %g = attn.group_rows %e : tensor<?x2xi32> -> tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>
  return %r, %p, %g : tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>
}

// -----

// CHECK-LABEL: @combine_rows
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<?x3xf32>, %[[INDICES:.*]]: tensor<?x3xi32>
func.func @combine_rows(%x: tensor<?x64xf32>, %w: tensor<?x3xf32>, %p: tensor<?x3xi32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: tensor.extract %[[INDICES]]
  // CHECK: vector.transfer_read %[[X]]{{.*}} vector<32xf32>
  // CHECK: tensor.extract %[[W]]
  %y = attn.combine_rows %x, %w, %p : tensor<?x64xf32>, tensor<?x3xf32>, tensor<?x3xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Columns that fill no panels: the neutral decomposition.
// CHECK-LABEL: @columns
func.func @columns(%x: tensor<?x40xf32>, %w: tensor<?x3xf32>) -> tensor<?x40xf32> {
  // CHECK: linalg.generic
  %y = attn.combine_rows %x, %w : tensor<?x40xf32>, tensor<?x3xf32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

// The grid is over no more groups than there are rows, and panels of one matrix. A task has all rows of its group; its panel and its part of the bias are
// those of the group's matrix.
// CHECK-LABEL: @linear
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<15x64x32xf32>, %[[B:.*]]: tensor<480xf32>, %[[GROUPS:.*]]: tensor<6x2xi32>
func.func @linear(%x: tensor<?x64xf32>, %w: tensor<15x64x32xf32>, %b: tensor<480xf32>, %groups: tensor<6x2xi32>) -> tensor<?x96xf32> {
  // CHECK: affine.min
  // CHECK: scf.forall (%[[I:.*]], %[[PANEL:.*]]) in
  // CHECK: tensor.extract %[[GROUPS]][%[[I]], %{{.*}}]
  // CHECK: tensor.extract %[[GROUPS]]
  // CHECK: tensor.extract %[[GROUPS]][%[[I]], %{{.*}}]
  // CHECK: scf.for
  // CHECK: affine.apply {{.*}}(%{{.*}}, %[[PANEL]])
  // CHECK: tensor.extract_slice %[[W]]{{.*}} [1, 64, 32]
  // CHECK: linalg.matmul
  %y = attn.linear %x, %w, (%b) groups %groups {layout = #attn_cpu.panels<columns = 32, interleave = 1>, attn.schedule = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [14, 8, 4, 1], task_rows = 210>}
    : tensor<?x64xf32>, tensor<15x64x32xf32>, (tensor<480xf32>) groups tensor<6x2xi32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x96xf32>
}

// -----

// Heads with a matrix each: blocks of rows, heads, panels of a matrix. A task reads the rows of its head where they lie.
// CHECK-LABEL: @heads
// CHECK-SAME: %[[X:.*]]: tensor<?x5x64xf32>, %[[W:.*]]: tensor<15x64x32xf32>
func.func @heads(%x: tensor<?x5x64xf32>, %w: tensor<15x64x32xf32>) -> tensor<?x5x96xf32> {
  // CHECK: scf.forall (%{{.*}}, %[[HEAD:.*]], %[[PANEL:.*]]) in (%{{.*}}, 5, 3)
  // CHECK: tensor.extract_slice %[[X]][0, %[[HEAD]], 0] [%{{.*}}, 1, 64] [1, 1, 1] : tensor<?x5x64xf32> to tensor<?x64xf32>
  // CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, %[[HEAD]], %{{.*}}] [%{{.*}}, 1, 32]
  // CHECK: affine.apply {{.*}}(%[[HEAD]], %[[PANEL]])
  // CHECK: tensor.extract_slice %[[W]]{{.*}} [1, 64, 32]
  // CHECK: linalg.matmul
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>, attn.schedule = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [14, 8, 4, 1], task_rows = 210>}
    : tensor<?x5x64xf32>, tensor<15x64x32xf32> -> tensor<?x5x96xf32>
  return %y : tensor<?x5x96xf32>
}
