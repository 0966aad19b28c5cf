// RUN: rapt-opt %s --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%S/Inputs/state-schedules.mlir},transform-interpreter{entry-point=serial},canonicalize,cse)' | FileCheck %s --check-prefix=SERIAL
// RUN: rapt-opt %s --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%S/Inputs/state-schedules.mlir},transform-interpreter{entry-point=grid},canonicalize,cse)' | FileCheck %s --check-prefix=GRID
// RUN: rapt-opt %s --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%S/Inputs/state-schedules.mlir},transform-interpreter{entry-point=parts},canonicalize,cse)' | FileCheck %s --check-prefix=PARTS
// RUN: not rapt-opt %s --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%S/Inputs/state-schedules.mlir},transform-interpreter{entry-point=lanes})' 2>&1 | FileCheck %s --check-prefix=LANES

// Queries in tiles of 3, for each the keys in blocks of 64, one after another through acc, max and sum. Positions of the
// queries and keys move with the tile (A39), and so do the slices of the bias.
// SERIAL: #[[$ADD:.*]] = affine_map<()[s0, s1] -> (s0 + s1)>
// SERIAL-LABEL: @state
// SERIAL-SAME: %[[AT:[a-z0-9]+]]: index, %[[BIAS:[a-z0-9]+]]: tensor<128x6xf32>
// SERIAL: scf.for %[[M:.*]] = %c0 to %c6 step %c3 iter_args
// SERIAL: scf.for %[[N:.*]] = %c0 to %c128 step %c64 iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>)
// SERIAL-DAG: tensor.extract_slice %{{.*}}[%[[M]], 0] [3, 5] [1, 1] : tensor<6x5xf32> to tensor<3x5xf32>
// SERIAL-DAG: tensor.extract_slice %{{.*}}[%[[N]], 0] [64, 5] [1, 1] : tensor<128x5xf32> to tensor<64x5xf32>
// SERIAL-DAG: tensor.extract_slice %{{.*}}[%[[N]], 0] [64, 64] [1, 1] : tensor<128x64xf32> to tensor<64x64xf32>
// SERIAL-DAG: tensor.extract_slice %[[BIAS]][%[[N]], %[[M]]] [64, 3] [1, 1] : tensor<128x6xf32> to tensor<64x3xf32>
// SERIAL-DAG: %[[FIRST_QUERY:.*]] = affine.apply #[[$ADD]]()[%[[AT]], %[[M]]]
// SERIAL-DAG: %[[FIRST_KEY:.*]] = affine.apply #[[$ADD]]()[%[[AT]], %[[N]]]
// SERIAL: attn.attention_state {{.*}} at(%[[AT]], %[[AT]], %[[FIRST_QUERY]], %[[FIRST_KEY]])
// SERIAL-SAME: tensor<3x5xf32>, tensor<64x5xf32>, tensor<64x64xf32>, tensor<3x64xf32>, tensor<3xf32>, tensor<3xf32>
// SERIAL: mask {
// SERIAL: tensor.insert_slice
// SERIAL-NOT: attn.attention_merge

// GRID-LABEL: @state
// GRID: scf.forall (%{{.*}}) in (2) shared_outs({{.*}}) -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>)
// GRID: attn.attention_state
// GRID-SAME: tensor<3x5xf32>, tensor<128x5xf32>, tensor<128x64xf32>, tensor<3x64xf32>
// GRID-COUNT-3: tensor.parallel_insert_slice

// Parts start from the empty state (A36); the initial one comes in at the merge.
// PARTS-LABEL: @state
// PARTS-SAME: %[[ACC0:[a-z0-9]*]]: tensor<6x64xf32>, %[[MAX0:[a-z0-9]*]]: tensor<6xf32>, %[[SUM0:[a-z0-9]*]]: tensor<6xf32>
// PARTS-DAG: arith.constant dense<0.000000e+00> : tensor<2x6x64xf32>
// PARTS-DAG: arith.constant dense<-3.40282347E+38> : tensor<2x6xf32>
// PARTS: scf.forall (%{{.*}}) = (0) to (128) step (64) shared_outs
// PARTS: attn.attention_state
// PARTS-SAME: tensor<6x5xf32>, tensor<64x5xf32>, tensor<64x64xf32>, tensor<6x64xf32>
// PARTS: tensor.parallel_insert_slice
// PARTS: attn.attention_merge %{{.*}}, %{{.*}}, %{{.*}} init(%[[ACC0]], %[[MAX0]], %[[SUM0]]) : tensor<2x6x64xf32>, tensor<2x6xf32>, tensor<2x6xf32>

// LANES: error: 'attn.attention_state' op is split into parts that are taken at the same time (tile_reduction_using_forall), each with one state
func.func @state(%q: tensor<6x5xf32>, %k: tensor<128x5xf32>, %v: tensor<128x64xf32>, %scale: f32, %at: index, %bias: tensor<128x6xf32>,
                 %acc: tensor<6x64xf32>, %max: tensor<6xf32>, %sum: tensor<6xf32>) -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0:3 = attn.attention_state %q, %k, %v, %scale at(%at, %at, %at, %at) extras(%bias : tensor<128x6xf32>) maps [affine_map<(q, kv) -> (kv, q)>]
    init(%acc, %max, %sum) : tensor<6x5xf32>, tensor<128x5xf32>, tensor<128x64xf32>, tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %0#0, %0#1, %0#2 : tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
}
