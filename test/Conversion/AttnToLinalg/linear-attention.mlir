// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// A task is a state of a sequence: a loop over its tokens, which carries the state and its outputs. The state is copied from the slot
// where the sequence begins, of the tensor that is written, and goes into the one where it ends.
// CHECK-LABEL: @gated_delta
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x8xf32>, %[[V:.*]]: tensor<?x4x16xbf16>, %[[G:.*]]: tensor<?x4xf32>, %[[BEGIN:.*]]: tensor<?xi32>, %[[S:.*]]: tensor<?x3x4x8x16xf32>, %[[LAYER:.*]]: index, %[[FROM:.*]]: tensor<?xi32>, %[[TO:.*]]: tensor<?xi32>
func.func @gated_delta(%q: tensor<?x2x8xf32>, %v: tensor<?x4x16xbf16>, %g: tensor<?x4xf32>, %begin: tensor<?xi32>, %s: tensor<?x3x4x8x16xf32>, %layer: index, %from: tensor<?xi32>, %to: tensor<?xi32>)
    -> (tensor<?x4x16xf32>, tensor<?x3x4x8x16xf32>) {
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: scf.forall (%[[ROW:.*]], %[[STATE:.*]]) in (%{{.*}}, 4) shared_outs(%[[OUT:.*]] = %[[ZEROS]], %[[STATES:.*]] = %[[S]])
  // CHECK: tensor.extract %[[FROM]][%[[ROW]]]
  // CHECK: %[[KEPT:.*]] = tensor.extract_slice %[[STATES]][%{{.*}}, %[[LAYER]], %[[STATE]], 0, 0] [1, 1, 1, 8, 16] [1, 1, 1, 1, 1]
  // CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x16xf32>)
  // CHECK: tensor.extract %[[KEPT]]
  // CHECK: %[[LAST:.*]]:2 = scf.for {{.*}} iter_args(%[[MATRIX:.*]] = %[[FIRST]], %[[ROWS:.*]] = %{{.*}})
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[MATRIX]] :
  // CHECK: arith.subf
  // CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} {{.*}} outs(%[[MATRIX]] :
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[NEXT]] :
  // CHECK: tensor.insert_slice %{{.*}} into %[[ROWS]]
  // CHECK: tensor.extract %[[TO]][%[[ROW]]]
  // CHECK: tensor.parallel_insert_slice %[[LAST]]#1 into %[[OUT]]
  // CHECK: tensor.parallel_insert_slice %[[LAST]]#0 into %[[STATES]][%{{.*}}, %[[LAYER]], %[[STATE]], 0, 0] [1, 1, 1, 8, 16] [1, 1, 1, 1, 1]
  %y, %new = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x4xf32>) beta(%g : tensor<?x4xf32>) rows(%begin)
    state(%s : tensor<?x3x4x8x16xf32>) layer(%layer) slots(%from : tensor<?xi32>, %to : tensor<?xi32>) scale 0.5
    : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x4x16xbf16>, tensor<?xi32>
  return %y, %new : tensor<?x4x16xf32>, tensor<?x3x4x8x16xf32>
}

// -----

// Decays by channel are computed once a token. Without a state, sequences begin with zeros. Two queries read a state.
// CHECK-LABEL: @gated
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x8xf32>
func.func @gated(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %g: tensor<?x2x8xf32>, %begin: tensor<?xi32>) -> tensor<?x4x8xbf16> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x4x8xf32>)
  // CHECK: %[[FIRST:.*]] = linalg.fill {{.*}} -> tensor<8x8xf32>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]], %{{.*}} = %{{.*}})
  // CHECK: %[[DECAYS:.*]] = linalg.generic
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[DECAYS]] :
  // CHECK: tensor.extract %[[Q]]
  %0 = attn.linear_attention gated %q, %k, %k decay(%g : tensor<?x2x8xf32>) rows(%begin) : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  %1 = arith.truncf %0 : tensor<?x4x8xf32> to tensor<?x4x8xbf16>
  return %1 : tensor<?x4x8xbf16>
}
