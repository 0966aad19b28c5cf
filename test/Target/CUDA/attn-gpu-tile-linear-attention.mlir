// RUN: rapt-opt %s --attn-gpu-tile --canonicalize --split-input-file | FileCheck %s

// A task has 32 of 96 value channels of one of four states, and reads and writes the state where the row's slots are in the tensor of all. Two states share a head of keys.
// CHECK-LABEL: @gated_delta
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x8xf32>, %[[V:.*]]: tensor<?x4x96xf32>, %[[G:.*]]: tensor<?x4xf32>, %[[BEGIN:.*]]: tensor<?xi32>, %[[S:.*]]: tensor<?x3x4x8x96xf32>, %[[LAYER:.*]]: index, %[[FROM:.*]]: tensor<?xi32>, %[[TO:.*]]: tensor<?xi32>
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: scf.forall (%[[ROW:.*]], %[[STATE:.*]], %[[SLICE:.*]]) in (%{{.*}}, 4, 3) shared_outs(%[[OUT:.*]] = %[[ZEROS]], %[[STATES:.*]] = %[[S]])
// CHECK: tensor.extract_slice %[[Q]][%{{.*}}, %{{.*}}, 0] [%{{.*}}, 1, 8] [1, 1, 1] : tensor<?x2x8xf32> to tensor<?x1x8xf32>
// CHECK: tensor.extract_slice %[[V]][%{{.*}}, %[[STATE]], %{{.*}}] [%{{.*}}, 1, 32]
// CHECK: tensor.extract_slice %[[G]][%{{.*}}, %[[STATE]]] [%{{.*}}, 1]
// CHECK: %[[DEST:.*]] = tensor.extract_slice %[[OUT]][%{{.*}}, %[[STATE]], %{{.*}}] [%{{.*}}, 1, 32]
// CHECK: %[[TILE:.*]]:2 = attn_gpu.linear_attention_tile %{{.*}}, %{{.*}}, %{{.*}} decay({{.*}}) beta({{.*}}) from[%{{.*}}, %[[LAYER]], %[[STATE]], %c0, %{{.*}}] to[%{{.*}}, %[[LAYER]], %[[STATE]], %c0, %{{.*}}] outs(%[[DEST]] : tensor<?x1x32xf32>) states(%[[STATES]] : tensor<?x3x4x8x96xf32>) tiles <columns = 32, warps = 4> {scale = 5.000000e-01 : f64}
// CHECK: %[[MATRIX:.*]] = tensor.extract_slice %[[TILE]]#1[%[[SLOT:.*]], %[[LAYER]], %[[STATE]], 0, %[[COLUMN:.*]]] [1, 1, 1, 8, 32]
// CHECK: tensor.parallel_insert_slice %[[TILE]]#0 into %[[OUT]]
// CHECK: tensor.parallel_insert_slice %[[MATRIX]] into %[[STATES]][%[[SLOT]], %[[LAYER]], %[[STATE]], 0, %[[COLUMN]]] [1, 1, 1, 8, 32]
// CHECK: } {attn.op = 7 : i64}
func.func @gated_delta(%q: tensor<?x2x8xf32>, %v: tensor<?x4x96xf32>, %g: tensor<?x4xf32>, %begin: tensor<?xi32>, %s: tensor<?x3x4x8x96xf32>, %layer: index, %from: tensor<?xi32>, %to: tensor<?xi32>)
    -> (tensor<?x4x96xf32>, tensor<?x3x4x8x96xf32>) {
  %y, %new = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x4xf32>) beta(%g : tensor<?x4xf32>) rows(%begin)
    state(%s : tensor<?x3x4x8x96xf32>) layer(%layer) slots(%from : tensor<?xi32>, %to : tensor<?xi32>) scale 0.5
    {attn.op = 7 : i64, attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>} : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x4x96xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x96xf32>, tensor<?x3x4x8x96xf32>
}

// -----

// Two queries read a state that nobody takes: it is an input. The last of three slices of 40 channels has eight. Decays are those of channels.
// CHECK-DAG: #[[$REST:.*]] = affine_map<(d0) -> (d0 * -16 + 40, 16)>
// CHECK-LABEL: @gated
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x8xf32>
// CHECK: scf.forall (%[[ROW:.*]], %[[STATE:.*]], %[[SLICE:.*]]) in (%{{.*}}, 2, 3) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x4x40xf32>)
// CHECK: affine.min #[[$REST]](%[[SLICE]])
// CHECK: tensor.extract_slice %[[Q]][%{{.*}}, %{{.*}}, 0] [%{{.*}}, 2, 8]
// CHECK: attn_gpu.linear_attention_tile {{.*}} decay(%{{.*}} : tensor<?x1x8xf32>) first(%{{.*}} : tensor<?x2x8x40xf32>) from[%[[ROW]], %[[STATE]], %c0, %{{.*}}] outs(%{{.*}} : tensor<?x2x?xf32>) tiles <columns = 16, warps = 2>
func.func @gated(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x1x40xf32>, %g: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x8x40xf32>) -> tensor<?x4x40xf32> {
  %y, %new = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x2x8xf32>) rows(%begin) state(%s : tensor<?x2x8x40xf32>) {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 16, warps = 2>}
    : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x1x40xf32>, tensor<?xi32>
  return %y : tensor<?x4x40xf32>
}

// -----

// Near miss: without a schedule it is for its neutral decomposition.
// CHECK-LABEL: @neutral
// CHECK: attn.linear_attention
// CHECK-NOT: attn_gpu
func.func @neutral(%q: tensor<?x2x8xf32>, %begin: tensor<?xi32>) -> tensor<?x2x8xf32> {
  %y = attn.linear_attention linear %q, %q, %q rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return %y : tensor<?x2x8xf32>
}
