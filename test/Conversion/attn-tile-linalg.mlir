// RUN: rapt-opt %s --attn-tile-linalg --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-DAG: #[[$ROWS:.*]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-DAG: #[[$FIRST_ROW:.*]] = affine_map<()[s0] -> (s0 * 8)>
// CHECK-DAG: #[[$FIRST_COLUMN:.*]] = affine_map<()[s0] -> (s0 * 64)>

// A tile has as many points as the schedule says; tasks are counted from 0 by 1, as an executor counts them. The result is in the destination's place.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @fill
// CHECK-SAME: %[[X:.*]]: tensor<?x1024xf32>
func.func @fill(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
  %f0 = arith.constant 0.0 : f32
  // CHECK: %[[COUNT:.*]] = affine.apply #[[$ROWS]]
  // CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (%[[COUNT]], 16) shared_outs(%[[OUT:.*]] = %[[X]])
  // CHECK-DAG: %[[ROW:.*]] = affine.apply #[[$FIRST_ROW]]()[%[[I]]]
  // CHECK-DAG: %[[COLUMN:.*]] = affine.apply #[[$FIRST_COLUMN]]()[%[[J]]]
  // CHECK: tensor.extract_slice %[[OUT]][%[[ROW]], %[[COLUMN]]] [%{{.*}}, 64] [1, 1]
  %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  return %y : tensor<?x1024xf32>
}
}

// -----

// Other loops are taken point by point.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @cube
func.func @cube(%x: tensor<5x32x512xf32>) -> tensor<5x32x512xf32> {
  %f0 = arith.constant 0.0 : f32
  // CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (5, 4, 8)
  // CHECK: tensor.extract_slice {{.*}} [1, 8, 64] [1, 1, 1]
  %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<5x32x512xf32>) -> tensor<5x32x512xf32>
  return %y : tensor<5x32x512xf32>
}
}

// -----

#both = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A sum stays whole, so that its order is one for any number of threads. The grid keeps the number of the op that it computes.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @reduction
func.func @reduction(%x: tensor<?x800xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: scf.forall (%{{.*}}) in
  // CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [%{{.*}}, 800] [1, 1]
  // CHECK: scf.forall.in_parallel
  // CHECK: } {attn.op = 3 : i64}
  %0 = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x800xf32>) outs(%y : tensor<?xf32>) attrs = {attn.op = 3 : i64} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
}

// -----

#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// Near miss: without a parallel loop there is no grid.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @one_sum
func.func @one_sum(%x: tensor<800xf32>, %y: tensor<f32>) -> tensor<f32> {
  // CHECK-NOT: scf.forall
  // CHECK: return
  %0 = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]} ins(%x : tensor<800xf32>) outs(%y : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
}

// -----

// A tensor that an iteration makes elsewhere is copied back, and its extents are those of the entry's argument, so that no allocation
// depends on the loop.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @carried
// CHECK-SAME: %[[X:.*]]: tensor<?x80xf32>, %{{.*}}: tensor<?x80xf32>
func.func @carried(%x: tensor<?x80xf32>, %w: tensor<?x80xf32>, %n: index) -> tensor<?x80xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[X]])
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %c0
  // CHECK: %[[ROOM:.*]] = tensor.empty(%[[ROWS]])
  // CHECK: %[[SUM:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[ROOM]])
  // CHECK: linalg.add
  // CHECK: %[[BACK:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[CARRIED]])
  // CHECK: tensor.extract_slice %[[SUM]]
  // CHECK: linalg.copy
  // CHECK: scf.yield %[[BACK]]
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x80xf32>) {
    %d = tensor.dim %a, %c0 : tensor<?x80xf32>
    %e = tensor.empty(%d) : tensor<?x80xf32>
    %s = linalg.add ins(%a, %w : tensor<?x80xf32>, tensor<?x80xf32>) outs(%e : tensor<?x80xf32>) -> tensor<?x80xf32>
    scf.yield %s : tensor<?x80xf32>
  }
  return %0 : tensor<?x80xf32>
}
}

// -----

// Near miss: what is made in the place of the carried tensor needs no copy.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @in_place
func.func @in_place(%x: tensor<?x80xf32>, %n: index) -> tensor<?x80xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %{{.*}})
  // CHECK: %[[SAME:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[CARRIED]])
  // CHECK-NOT: linalg.copy
  // CHECK: scf.yield %[[SAME]]
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x80xf32>) {
    %s = linalg.fill ins(%f0 : f32) outs(%a : tensor<?x80xf32>) -> tensor<?x80xf32>
    scf.yield %s : tensor<?x80xf32>
  }
  return %0 : tensor<?x80xf32>
}
}

// -----

// An op that a task computes already gets no grid of its own.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @inside
func.func @inside(%x: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %f0 = arith.constant 0.0 : f32
  // CHECK-COUNT-1: scf.forall (
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %0 = scf.forall (%i) in (64) shared_outs(%d = %x) -> (tensor<64x80xf32>) {
    %p = tensor.extract_slice %d[%i, 0] [1, 80] [1, 1] : tensor<64x80xf32> to tensor<1x80xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%p : tensor<1x80xf32>) -> tensor<1x80xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %d[%i, 0] [1, 80] [1, 1] : tensor<1x80xf32> into tensor<64x80xf32>
    }
  }
  return %0 : tensor<64x80xf32>
}
}

// -----

// Near miss: a choice of which both sides are in the place of the carried tensor.
module attributes {attn.schedule = #attn.linalg_tiles<columns = 64, rows = 8>} {
// CHECK-LABEL: @chosen_in_place
func.func @chosen_in_place(%x: tensor<?x80xf32>, %n: index, %some: i1) -> tensor<?x80xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: scf.if
  // CHECK-NOT: linalg.copy
  // CHECK: return
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x80xf32>) {
    %chosen = scf.if %some -> (tensor<?x80xf32>) {
      %s = linalg.fill ins(%f0 : f32) outs(%a : tensor<?x80xf32>) -> tensor<?x80xf32>
      scf.yield %s : tensor<?x80xf32>
    } else {
      scf.yield %a : tensor<?x80xf32>
    }
    scf.yield %chosen : tensor<?x80xf32>
  }
  return %0 : tensor<?x80xf32>
}
}
