// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// Positions are a few integers: no grid.
// CHECK-LABEL: @positions
func.func @positions(%tokens: tensor<?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK-NOT: scf.forall
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: tensor.insert
  // CHECK: return
  %p = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}

// -----

// A grid over tokens. The angle is reduced to a fraction of a revolution before the cosine; 40 frequencies are a vector of 32 and one of 8.
// CHECK-LABEL: @table
func.func @table(%p: tensor<?xi32>) -> (tensor<?x40xf32>, tensor<?x40xf32>) {
  // CHECK: scf.forall (%[[T:.*]]) in
  // CHECK: math.roundeven {{.*}} : vector<32xf32>
  // CHECK: math.cos {{.*}} : vector<32xf32>
  // CHECK: math.sin {{.*}} : vector<32xf32>
  // CHECK: math.cos {{.*}} : vector<8xf32>
  // CHECK: math.sin {{.*}} : vector<8xf32>
  // CHECK-NOT: math.
  %c, %s = attn.rotary_table %p frequencies [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] : tensor<?xi32> -> tensor<?x40xf32>
  return %c, %s : tensor<?x40xf32>, tensor<?x40xf32>
}

// -----

// The table is read once for all heads; channels 20 and 21 are not rotated.
// CHECK-LABEL: @halves
func.func @halves(%x: tensor<?x8x22xf32>, %c: tensor<?x10xf32>, %s: tensor<?x10xf32>) -> tensor<?x8x22xf32> {
  // CHECK: scf.forall (%[[T:.*]]) in
  // CHECK-COUNT-2: vector.transfer_read {{.*}} : tensor<?x10xf32>, vector<10xf32>
  // CHECK: scf.for
  // CHECK-COUNT-2: vector.transfer_read {{.*}} : tensor<?x8x22xf32>, vector<10xf32>
  // CHECK-NOT: vector.shuffle
  // CHECK: scf.for
  // CHECK: vector.transfer_read {{.*}} : tensor<?x8x22xf32>, vector<2xf32>
  %y = attn.rope %x, %c, %s : tensor<?x8x22xf32>, tensor<?x10xf32>
  return %y : tensor<?x8x22xf32>
}

// -----

// Interleaved channels: vectors of both channels of a pair, swapped for the sine. All channels are rotated.
// CHECK-LABEL: @interleaved
func.func @interleaved(%x: tensor<?x8x20xf32>, %c: tensor<?x10xf32>, %s: tensor<?x10xf32>) -> tensor<?x8x20xf32> {
  // CHECK: vector.shuffle %[[C:.*]], %[[C]] [0, 0, 1, 1,
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [10, 0, 11, 1,
  // CHECK: scf.for
  // CHECK: %[[X:.*]] = vector.transfer_read {{.*}} : tensor<?x8x20xf32>, vector<20xf32>
  // CHECK: vector.shuffle %[[X]], %[[X]] [1, 0, 3, 2,
  // CHECK-NOT: scf.for %
  %y = attn.rope %x, %c, %s interleaved : tensor<?x8x20xf32>, tensor<?x10xf32>
  return %y : tensor<?x8x20xf32>
}

// -----

// Code does not grow with the channels: a loop takes 16 pairs at a time; the last 15 pairs and the channel that is not rotated follow.
// CHECK-LABEL: @long
func.func @long(%x: tensor<?x1x2147483647xf32>, %c: tensor<?x1073741823xf32>, %s: tensor<?x1073741823xf32>) -> tensor<?x1x2147483647xf32> {
  // CHECK: scf.for %[[PAIR:.*]] = %{{.*}} to %c1073741808{{.*}} step %c16
  // CHECK: vector.transfer_read {{.*}}, %[[PAIR]]], {{.*}} : tensor<?x1073741823xf32>, vector<16xf32>
  // CHECK: affine.apply {{.*}}(%[[PAIR]])
  // CHECK: vector.transfer_read {{.*}} : tensor<?x1x2147483647xf32>, vector<32xf32>
  // CHECK: vector.transfer_read {{.*}} : tensor<?x1073741823xf32>, vector<15xf32>
  // CHECK: vector.transfer_read {{.*}} : tensor<?x1x2147483647xf32>, vector<30xf32>
  // CHECK: vector.transfer_read {{.*}} : tensor<?x1x2147483647xf32>, vector<1xf32>
  %y = attn.rope %x, %c, %s interleaved : tensor<?x1x2147483647xf32>, tensor<?x1073741823xf32>
  return %y : tensor<?x1x2147483647xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// A rotation that is fused into its matmul: a task has the two panels of a head and rotates its rows in place, of the first 3 heads
// of 5. No grid is the rotation's own.
// CHECK-LABEL: @fused
func.func @fused(%x: tensor<?x48xf32>, %w: tensor<10x48x32xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x320xf32> {
  // CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (%{{.*}}, 5)
  // CHECK: %[[TILE:.*]] = scf.for %[[P:.*]] = %{{.*}} to %c2
  // CHECK: linalg.matmul
  // CHECK: %[[TURNS:.*]] = arith.cmpi ult, %[[H]], %c3
  // CHECK: %[[END:.*]] = arith.select %[[TURNS]]
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] {{.*}} iter_args(%{{.*}} = %[[TILE]])
  // CHECK-COUNT-2: vector.transfer_write {{.*}} : vector<32xf32>, tensor<?x64xf32>
  // CHECK-NOT: scf.forall (
  %0 = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x48xf32>, tensor<10x48x32xf32> -> tensor<?x320xf32>
  %1 = attn.split_heads %0 : tensor<?x320xf32> -> tensor<?x5x64xf32>
  %2 = attn.rope %1, %c, %s heads 3 {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x5x64xf32>, tensor<?x32xf32>
  %y = attn.merge_heads %2 : tensor<?x5x64xf32> -> tensor<?x320xf32>
  return %y : tensor<?x320xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Without the attribute the rotation has a grid of its own.
// CHECK-LABEL: @unfused
func.func @unfused(%x: tensor<?x48xf32>, %w: tensor<4x48x32xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x2x64xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 4)
  // CHECK: scf.forall (%{{.*}}) in
  %0 = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x48xf32>, tensor<4x48x32xf32> -> tensor<?x128xf32>
  %1 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
  %2 = attn.rope %1, %c, %s : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %2 : tensor<?x2x64xf32>
}

// -----

// Two halves; 28 columns of 32 are padding. Positions begin at 2.
// CHECK-LABEL: @sinusoids_halves
func.func @sinusoids_halves(%p: tensor<?xi32>) -> tensor<?x32xf32> {
  // CHECK: arith.addi %{{.*}}, %c2_i32 : i32
  // CHECK: vector.shuffle {{.*}} [0, 1, 34, 35, 4, 5,
  %y = attn.sinusoids %p frequencies [1.0, 0.5, 1.0, 0.5] halves first 2 : tensor<?xi32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// A grid over tokens; 24 columns of 64 are padding: the sine of 0.
// CHECK-LABEL: @sinusoids
func.func @sinusoids(%p: tensor<?xi32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall (%[[T:.*]]) in
  // CHECK: %[[C:.*]] = math.cos {{.*}} : vector<32xf32>
  // CHECK: %[[S:.*]] = math.sin {{.*}} : vector<32xf32>
  // CHECK: vector.shuffle %[[S]], %[[C]] [0, 33, 2, 35,
  // CHECK: arith.constant dense<{{\[}}0.0795774{{.*}}, 0.000000e+00, 0.000000e+00]> : vector<32xf32>
  // CHECK: vector.shuffle {{.*}} [0, 33, 2, 35, 4, 37, 6, 39, 8, 9, 10, 11,
  // CHECK-NOT: math.
  %y = attn.sinusoids %p frequencies [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] : tensor<?xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Rows of a table, and elements of a table in panels, times the scale; without a scale there is no multiplication.
// CHECK-LABEL: @scaled
func.func @scaled(%ids: tensor<?xi32>, %t: tensor<97x64xbf16>, %panels: tensor<4x40x32xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[ROW:.*]] = arith.extf {{.*}} vector<32xf32>
  // CHECK: arith.mulf %[[ROW]]
  %x = attn.embedding %ids, %t scale 8.0 : tensor<?xi32>, tensor<97x64xbf16> -> tensor<?x64xf32>
  // CHECK: %[[ELEMENT:.*]] = tensor.extract %{{.*}} : tensor<4x40x32xf32>
  // CHECK: arith.mulf %[[ELEMENT]], %{{.*}} : f32
  %y = attn.embedding %ids, %panels scale 8.0 {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x64xf32>
  // CHECK: tensor<4x40x32xf32>
  // CHECK-NOT: arith.mulf
  // CHECK: return
  %z = attn.embedding %ids, %panels {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x64xf32>
  return %x, %y, %z : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
