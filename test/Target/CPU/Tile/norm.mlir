// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// An input that nothing reads afterwards is overwritten, so that a post-norm residual stream is updated in place.
// CHECK-LABEL: @in_place
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32>
func.func @in_place(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: tensor.empty
  // CHECK: scf.forall {{.*}} shared_outs(%[[OUT:.*]] = %[[X]])
  // CHECK: %[[ROW:.*]] = tensor.extract_slice %[[OUT]]
  // CHECK-COUNT-2: vector.transfer_read %[[ROW]]
  // CHECK: math.sqrt
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Near miss: the input is read again, so the result has a buffer of its own.
// CHECK-LABEL: @of_its_own
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32>
func.func @of_its_own(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[EMPTY:.*]] = tensor.empty
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[EMPTY]])
  // CHECK: %[[ROW:.*]] = tensor.extract_slice %[[X]]
  // CHECK: vector.transfer_read %[[ROW]]
  // CHECK: math.sqrt
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %1 = arith.addf %x, %0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// 24 of 64 columns are padding, which is set to zero again after the mean is subtracted.
// CHECK-LABEL: @padded
func.func @padded(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: vector.create_mask
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 columns 40 : tensor<?x64xf32>, tensor<64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// A task for each token and head. Heads of the columns of a matrix are overwritten where they are.
// CHECK-LABEL: @heads
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4x64xf32>
func.func @heads(%x: tensor<?x4x64xf32>, %w: tensor<64xf32>) -> tensor<?x4x64xf32> {
  // CHECK-NOT: tensor.empty
  // CHECK: scf.forall (%[[T:.*]], %[[H:.*]]) in (%{{.*}}, 4) shared_outs(%[[OUT:.*]] = %[[X]])
  // CHECK: tensor.extract_slice %[[OUT]][%[[T]], %[[H]], 0] [1, 1, 64] [1, 1, 1] : tensor<?x4x64xf32> to tensor<64xf32>
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%[[T]], %[[H]], 0] [1, 1, 64]
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x4x64xf32>, tensor<64xf32>
  return %0 : tensor<?x4x64xf32>
}

// -----

// The weight is read at the head.
// CHECK-LABEL: @own
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4x64xf32>, %[[W:[^:]*]]: tensor<4x64xf32>
func.func @own(%x: tensor<?x4x64xf32>, %w: tensor<4x64xf32>) -> tensor<?x4x64xf32> {
  // CHECK: scf.forall (%[[T:.*]], %[[H:.*]]) in (%{{.*}}, 4)
  // CHECK: vector.transfer_read %[[W]][%[[H]], %{{.*}}]
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x4x64xf32>, tensor<4x64xf32>
  return %0 : tensor<?x4x64xf32>
}
