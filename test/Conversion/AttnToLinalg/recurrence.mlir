// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$STATE:.*]] = affine_map<(d0, d1) -> (0, d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>

// A task is a sequence: a loop over its tokens, which carries outputs and states in the place of the results. A time step is one
// matmul, whose innermost loop goes along a row of the weight, and one op that writes the states over the old ones.
// CHECK-LABEL: @lstm
// CHECK-SAME: %[[X:.*]]: tensor<?x80xf32>, %[[W:.*]]: tensor<20x80xbf16>, %{{.*}}: tensor<?xi32>, %[[H:.*]]: tensor<?x20xf32>
func.func @lstm(%x: tensor<?x80xf32>, %w: tensor<20x80xbf16>, %begin: tensor<?xi32>, %h: tensor<?x20xf32>)
    -> (tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32>) {
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: scf.forall (%[[ROW:.*]]) in (%{{.*}}) shared_outs(%[[OUT:.*]] = %[[ZEROS]], %[[HS:.*]] = %{{.*}}, %[[CS:.*]] = %{{.*}})
  // CHECK: tensor.extract_slice %[[HS]][%[[ROW]], 0] [1, 20] [1, 1]
  // CHECK: tensor.extract_slice %[[H]][%[[ROW]], 0] [1, 20] [1, 1]
  // CHECK: tensor.extract_slice %[[CS]][%[[ROW]], 0] [1, 20] [1, 1]
  // CHECK: %[[OUTPUTS:.*]] = tensor.extract_slice %[[OUT]][%[[BEGIN:.*]], 0] [%[[LENGTH:.*]], 20] [1, 1]
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[LENGTH]] {{.*}} iter_args(%[[HT:.*]] = %{{.*}}, %[[CT:.*]] = %{{.*}}, %{{.*}} = %[[OUTPUTS]])
  // CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[$STATE]], #[[$BOTH]], #[[$COLUMN]]], iterator_types = ["reduction", "parallel"]} ins(%[[HT]], %[[W]] :
  // CHECK: %[[STATES:.*]]:2 = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} outs(%[[HT]], %[[CT]] :
  // CHECK: tensor.insert_slice %[[STATES]]#0 into
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%[[BEGIN]], 0] [%[[LENGTH]], 20] [1, 1]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[HS]][%[[ROW]], 0] [1, 20] [1, 1]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[CS]][%[[ROW]], 0] [1, 20] [1, 1]
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %h) : tensor<?x80xf32>, tensor<20x80xbf16>, tensor<?xi32>, tensor<?x20xf32>, tensor<?x20xf32>
  return %y, %last#0, %last#1 : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32>
}

// -----

// Backwards, from a state of zeros: the token is counted from the end, for input and output.
// CHECK-LABEL: @reverse
// CHECK-SAME: %[[X:.*]]: tensor<?x20xf32>
func.func @reverse(%x: tensor<?x20xf32>, %w: tensor<20x20xf32>, %begin: tensor<?xi32>) -> (tensor<?x20xf32>, tensor<?x20xf32>) {
  // CHECK: scf.forall
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} : tensor<1x20xf32>
  // CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}} = %[[ZEROS]], %[[OUT:.*]] = %{{.*}})
  // CHECK: %[[LAST:.*]] = arith.subi
  // CHECK: %[[T:.*]] = arith.subi %[[LAST]], %[[I]]
  // CHECK: %[[TOKEN:.*]] = arith.addi %{{.*}}, %[[T]]
  // CHECK: tensor.extract %[[X]][%[[TOKEN]], %{{.*}}]
  // CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][%[[T]], 0]
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) reverse : tensor<?x20xf32>, tensor<20x20xf32>, tensor<?xi32>
  return %y, %last : tensor<?x20xf32>, tensor<?x20xf32>
}

// -----

// The state is written in place, one task for each row.
// CHECK-LABEL: @update
// CHECK-SAME: %[[S:.*]]: tensor<?x2x20xf32>, %[[LAYER:.*]]: index, %[[V:.*]]: tensor<?x20xf32>, %[[ROWS:.*]]: tensor<?xi32>
func.func @update(%s: tensor<?x2x20xf32>, %layer: index, %v: tensor<?x20xf32>, %rows: tensor<?xi32>) -> tensor<?x2x20xf32> {
  // CHECK-NOT: tensor.empty
  // CHECK: scf.forall (%[[NTH:.*]]) in (%{{.*}}) shared_outs(%[[DEST:.*]] = %[[S]])
  // CHECK: tensor.extract %[[ROWS]][%[[NTH]]]
  // CHECK: tensor.extract %[[V]][%[[NTH]], %{{.*}}]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[DEST]][%{{.*}}, %[[LAYER]], 0] [1, 1, 20] [1, 1, 1]
  %0 = attn.update_rows %s[%layer], %v, %rows : tensor<?x2x20xf32>, tensor<?x20xf32>, tensor<?xi32>
  return %0 : tensor<?x2x20xf32>
}

// -----

// The state is carried in f32; output and last state are rounded where they are stored.
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<?x32xbf16>, %w: tensor<32x32xbf16>, %begin: tensor<?xi32>) -> (tensor<?x32xbf16>, tensor<?x32xbf16>) {
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<1x32xf32>, tensor<?x32xbf16>)
  // CHECK: arith.truncf
  // CHECK: arith.truncf
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) : tensor<?x32xbf16>, tensor<32x32xbf16>, tensor<?xi32>
  return %y, %last : tensor<?x32xbf16>, tensor<?x32xbf16>
}
