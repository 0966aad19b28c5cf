// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>

// The mean comes first, then the sum of squared deviations from it, then one op over all elements. No padding: 50 columns.
// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[W:.*]]: tensor<50xf32>, %[[B:.*]]: tensor<50xf32>
func.func @layer(%x: tensor<?x50xf32>, %w: tensor<50xf32>, %b: tensor<50xf32>) -> tensor<?x50xf32> {
  // CHECK-NOT: tensor.extract_slice
  // CHECK: %[[COUNT:.*]] = arith.constant 5.000000e+01 : f32
  // CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[X]] :
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] :
  // CHECK: arith.divf %{{.*}}, %[[COUNT]]
  // CHECK: %[[SQUARES:.*]] = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$ROW]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[MEAN]] :
  // CHECK: arith.subf
  // CHECK: linalg.generic {indexing_maps = [#[[$BOTH]], #[[$ROW]], #[[$COLUMN]], #[[$ROW]], #[[$COLUMN]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[SQUARES]], %[[W]], %[[MEAN]], %[[B]] :
  // CHECK: math.sqrt
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x50xf32>, tensor<50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>

// 40 of 64 columns count: the sum reads a slice of them, the result is whole. There is no mean.
// CHECK-LABEL: @rms
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<64xf32>
func.func @rms(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[COUNTED:.*]] = tensor.extract_slice %[[X]][0, 0] [%{{.*}}, 40] [1, 1]
  // CHECK: %[[COUNT:.*]] = arith.constant 4.000000e+01 : f32
  // CHECK: %[[SQUARES:.*]] = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[COUNTED]] :
  // CHECK-NOT: arith.subf
  // CHECK: linalg.generic {indexing_maps = [#[[$BOTH]], #[[$ROW]], #[[$COLUMN]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[SQUARES]], %[[W]] :
  // CHECK: arith.divf %{{.*}}, %[[COUNT]]
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 columns 40 : tensor<?x64xf32>, tensor<64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1, d2) -> (d2)>

// All dims but the last are rows.
// CHECK-LABEL: @heads
// CHECK-SAME: %[[X:.*]]: tensor<?x3x20xf32>, %[[W:.*]]: tensor<20xf32>
func.func @heads(%x: tensor<?x3x20xf32>, %w: tensor<20xf32>) -> tensor<?x3x20xf32> {
  // CHECK: %[[COUNTED:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [%{{.*}}, 3, 17] [1, 1, 1]
  // CHECK: %[[SQUARES:.*]] = linalg.generic {indexing_maps = [#[[$ALL]], #[[$ROWS]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[COUNTED]] :
  // CHECK: linalg.generic {indexing_maps = [#[[$ALL]], #[[$ROWS]], #[[$COLUMN]], #[[$ALL]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]], %[[SQUARES]], %[[W]] :
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 columns 17 : tensor<?x3x20xf32>, tensor<20xf32>
  return %0 : tensor<?x3x20xf32>
}

// -----

// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$OWN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// The weight is the head's.
// CHECK-LABEL: @own
// CHECK-SAME: %[[X:.*]]: tensor<?x3x20xf32>, %[[W:.*]]: tensor<3x20xf32>
func.func @own(%x: tensor<?x3x20xf32>, %w: tensor<3x20xf32>) -> tensor<?x3x20xf32> {
  // CHECK: linalg.generic {indexing_maps = [#[[$ALL]], #[[$ROWS]], #[[$OWN]], #[[$ALL]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]], %{{.*}}, %[[W]] :
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x3x20xf32>, tensor<3x20xf32>
  return %0 : tensor<?x3x20xf32>
}
