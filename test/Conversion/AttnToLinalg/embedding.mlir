// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[$TOKEN:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// One op over tokens and columns, which reads a row of the table as it lies.
// CHECK-LABEL: @scaled
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>, %[[T:.*]]: tensor<97x50xbf16>
func.func @scaled(%ids: tensor<?xi32>, %t: tensor<97x50xbf16>) -> tensor<?x50xf32> {
  // CHECK: linalg.generic {indexing_maps = [#[[$TOKEN]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[IDS]] :
  // CHECK: ^bb0(%[[ID:.*]]: i32, %{{.*}}: f32):
  // CHECK: %[[ROW:.*]] = arith.index_cast %[[ID]] : i32 to index
  // CHECK: %[[COLUMN:.*]] = linalg.index 1
  // CHECK: tensor.extract %[[T]][%[[ROW]], %[[COLUMN]]]
  // CHECK: arith.extf
  // CHECK: arith.constant 8.0
  // CHECK: arith.mulf
  %0 = attn.embedding %ids, %t scale 8.0 : tensor<?xi32>, tensor<97x50xbf16> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// Near miss: without a scale nothing is multiplied.
// CHECK-LABEL: @plain
func.func @plain(%ids: tensor<?xi32>, %t: tensor<97x50xf32>) -> tensor<?x50xf32> {
  // CHECK: tensor.extract
  // CHECK-NEXT: linalg.yield
  %0 = attn.embedding %ids, %t : tensor<?xi32>, tensor<97x50xf32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// CHECK-LABEL: @select
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[S:.*]]: tensor<?x2x50xf32>, %[[LAYER:.*]]: index, %[[ROWS:.*]]: tensor<?xi32>
func.func @select(%x: tensor<?x50xf32>, %s: tensor<?x2x50xf32>, %l: index, %rows: tensor<?xi32>) -> (tensor<?x50xf32>, tensor<?x50xf32>) {
  // CHECK: ins(%[[ROWS]] :
  // CHECK: tensor.extract %[[X]][%{{.*}}, %{{.*}}]
  // CHECK: ins(%[[ROWS]] :
  // CHECK: tensor.extract %[[S]][%{{.*}}, %[[LAYER]], %{{.*}}]
  %0 = attn.select_rows %x, %rows : tensor<?x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  %1 = attn.select_rows %s[%l], %rows : tensor<?x2x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  return %0, %1 : tensor<?x50xf32>, tensor<?x50xf32>
}

// -----

// Tasks are parts of the rows that are named, which are updated in place.
// CHECK-LABEL: @add
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[V:.*]]: tensor<?x3x64xf32>, %[[LAYER:.*]]: index, %[[ROWS:.*]]: tensor<?xi32>
func.func @add(%x: tensor<?x64xbf16>, %v: tensor<?x3x64xf32>, %layer: index, %rows: tensor<?xi32>) -> tensor<?x64xbf16> {
  // CHECK: %[[COUNT:.*]] = tensor.dim %[[ROWS]]
  // CHECK: scf.forall (%[[I:.*]], %[[PART:.*]]) in (%[[COUNT]], 2) shared_outs(%[[DEST:.*]] = %[[X]])
  // CHECK: tensor.extract_slice %[[V]][%[[I]], %[[LAYER]], %{{.*}}] [1, 1, 32] [1, 1, 1] : tensor<?x3x64xf32> to tensor<1x32xf32>
  // CHECK: tensor.extract %[[ROWS]][%[[I]]]
  // CHECK: tensor.extract_slice %[[DEST]]{{.*}}[1, 32]
  // CHECK: arith.extf
  // CHECK: arith.addf {{.*}} : f32
  // CHECK: arith.truncf
  %0 = attn.write_rows add %x, %v[%layer], %rows : tensor<?x64xbf16>, tensor<?x3x64xf32>, tensor<?xi32>
  return %0 : tensor<?x64xbf16>
}

// -----

// Near miss: 50 columns are one part. Rows that are set are not read.
// CHECK-LABEL: @set_whole
func.func @set_whole(%x: tensor<?x50xf32>, %v: tensor<?x50xf32>, %rows: tensor<?xi32>) -> tensor<?x50xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 1)
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: linalg.yield %[[VALUE]]
  %0 = attn.write_rows set %x, %v, %rows : tensor<?x50xf32>, tensor<?x50xf32>, tensor<?xi32>
  return %0 : tensor<?x50xf32>
}
