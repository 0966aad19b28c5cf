// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// A task is a sequence. Each output reads the taps' inputs: the op's, or ahead of the first token those of the state, which is copied from
// the slot where the sequence begins. The new state has the last inputs, old ones of the state among them.
// CHECK-LABEL: @conv
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<3x8xf32>, %[[BEGIN:.*]]: tensor<?xi32>, %[[S:.*]]: tensor<?x2x8xf32>, %[[FROM:.*]]: tensor<?xi32>, %[[TO:.*]]: tensor<?xi32>
func.func @conv(%x: tensor<?x8xf32>, %w: tensor<3x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x8xf32>, %from: tensor<?xi32>, %to: tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x2x8xf32>) {
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: scf.forall (%[[ROW:.*]]) in (%{{.*}}) shared_outs(%[[OUT:.*]] = %[[ZEROS]], %[[STATES:.*]] = %[[S]])
  // CHECK: tensor.extract %[[FROM]][%[[ROW]]]
  // CHECK: %[[KEPT:.*]] = tensor.extract_slice %[[STATES]][%{{.*}}, 0, 0] [1, 2, 8] [1, 1, 1]
  // CHECK: %[[OUTPUTS:.*]] = linalg.generic
  // CHECK-COUNT-3: tensor.extract %[[W]]
  // CHECK: %[[LAST:.*]] = linalg.generic
  // CHECK: tensor.extract %[[X]]
  // CHECK: tensor.extract %[[KEPT]]
  // CHECK: tensor.parallel_insert_slice %[[OUTPUTS]] into %[[OUT]]
  // CHECK: tensor.parallel_insert_slice %[[LAST]] into %[[STATES]][%{{.*}}, 0, 0] [1, 2, 8] [1, 1, 1]
  %y, %new = attn.short_conv %x, %w activation silu rows(%begin) state(%s : tensor<?x2x8xf32>) slots(%from : tensor<?xi32>, %to : tensor<?xi32>) : tensor<?x8xf32>, tensor<3x8xf32>, tensor<?xi32>
  return %y, %new : tensor<?x8xf32>, tensor<?x2x8xf32>
}
