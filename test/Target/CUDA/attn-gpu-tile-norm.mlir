// RUN: rapt-opt %s --attn-gpu-tile --canonicalize --split-input-file | FileCheck %s

// A tile has four rows, and as many as are left.
// CHECK-DAG: #[[$TILES:.*]] = affine_map<()[s0] -> (s0 ceildiv 4)>
// CHECK-DAG: #[[$LEFT:.*]] = affine_map<(d0)[s0] -> (-d0 + s0, 4)>
// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:.*]]: tensor<?x768xf32>, %[[W:.*]]: tensor<768xbf16>, %[[B:.*]]: tensor<768xbf16>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]]
// CHECK: %[[TILES:.*]] = affine.apply #[[$TILES]]()[%[[ROWS]]]
// CHECK: scf.forall (%[[I:.*]]) in (%[[TILES]]) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<?x768xf32>) {
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]], %c4
// CHECK: %[[SIZE:.*]] = affine.min #[[$LEFT]](%[[FIRST]])[%[[ROWS]]]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][%[[FIRST]], 0] [%[[SIZE]], 768]
// CHECK: %[[DEST:.*]] = tensor.extract_slice %[[OUT]][%[[FIRST]], 0] [%[[SIZE]], 768]
// CHECK: %[[Y:.*]] = attn_gpu.norm_tile %[[PART]], %[[W]], %[[B]] outs(%[[DEST]] : tensor<?x768xf32>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.000000e-05 : f64} : tensor<?x768xf32>, tensor<768xbf16>, tensor<768xbf16> -> tensor<?x768xf32>
// CHECK: tensor.parallel_insert_slice %[[Y]] into %[[OUT]][%[[FIRST]], 0] [%[[SIZE]], 768]
// CHECK: } {attn.op = 7 : i64}
func.func @layer(%x: tensor<?x768xf32>, %w: tensor<768xbf16>, %b: tensor<768xbf16>) -> tensor<?x768xf32> {
  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 {attn.op = 7 : i64, attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} : tensor<?x768xf32>, tensor<768xbf16>
  return %y : tensor<?x768xf32>
}

// -----

// Heads are the rows of a tile: five of eight, of a token.
// CHECK-LABEL: @heads
// CHECK: scf.forall (%[[TOKEN:.*]]) in (%{{.*}}) shared_outs
// CHECK: tensor.extract_slice %{{.*}}[%[[TOKEN]], 0, 0] [1, 5, 64] [1, 1, 1] : tensor<?x5x64xbf16> to tensor<5x64xbf16>
// CHECK: attn_gpu.norm_tile %{{.*}}, %{{.*}} outs(%{{.*}} : tensor<5x64xbf16>) tiles <lanes = 8, threads = 64> {columns = 60 : i64, epsilon = {{.*}}E-7 : f64} : tensor<5x64xbf16>, tensor<64xf32> -> tensor<5x64xbf16>
// CHECK: tensor.parallel_insert_slice %{{.*}} [1, 5, 64] [1, 1, 1] : tensor<5x64xbf16> into tensor<?x5x64xbf16>
func.func @heads(%x: tensor<?x5x64xbf16>, %w: tensor<64xf32>) -> tensor<?x5x64xbf16> {
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 columns 60 {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 8, threads = 64>} : tensor<?x5x64xbf16>, tensor<64xf32>
  return %y : tensor<?x5x64xbf16>
}

// -----

// Near miss: a norm without the schedule is for its neutral decomposition.
// CHECK-LABEL: @neutral
// CHECK: attn.rms_norm
// CHECK-NOT: attn_gpu
func.func @neutral(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}
