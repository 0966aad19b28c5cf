// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// A grid over patches, whose lines are copied as vectors; padding is zero.
// CHECK-LABEL: @patches
func.func @patches(%pixels: tensor<?x3x?x?xf32>) -> tensor<?x160xf32> {
  // CHECK: %[[EACH:.*]] = arith.muli
  // CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %[[EACH]]
  // CHECK-NEXT: tensor.empty(%[[ROWS]]) : tensor<?x160xf32>
  // CHECK: scf.forall (%[[ROW:.*]]) in (%[[ROWS]])
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<32xf32>
  // CHECK: vector.transfer_write %[[ZERO]]
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: vector.transfer_read {{.*}} : tensor<?x3x?x?xf32>, vector<7xf32>
  %0 = attn.patches %pixels size 7 : tensor<?x3x?x?xf32> -> tensor<?x160xf32>
  return %0 : tensor<?x160xf32>
}

// -----

// Near miss: the pixels fill all columns, so nothing is cleared.
// CHECK-LABEL: @full
func.func @full(%pixels: tensor<?x3x?x?xf32>) -> tensor<?x192xf32> {
  // CHECK-NOT: vector<32xf32>
  // CHECK: vector.transfer_read {{.*}} : tensor<?x3x?x?xf32>, vector<8xf32>
  %0 = attn.patches %pixels size 8 : tensor<?x3x?x?xf32> -> tensor<?x192xf32>
  return %0 : tensor<?x192xf32>
}

// -----

// Bicubic interpolation of sixteen rows of the table, converted to f32 as they are read.
// CHECK-LABEL: @resize
func.func @resize(%table: tensor<17x64xbf16>, %h: index, %w: index) -> tensor<?x64xf32> {
  // CHECK: scf.forall
  // CHECK: scf.for
  // CHECK-COUNT-16: vector.transfer_read {{.*}} : tensor<17x64xbf16>, vector<32xbf16>
  // CHECK-NOT: vector.transfer_read
  %0 = attn.resize_positions %table, %h, %w grid [4, 4] : tensor<17x64xbf16> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @tokens
func.func @tokens(%x: tensor<?x64xf32>, %class: tensor<1x64xf32>, %p: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall
  // CHECK: %[[FIRST:.*]] = arith.cmpi slt
  // CHECK: arith.select %[[FIRST]], %{{.*}}, %{{.*}} : vector<32xf32>
  // CHECK: arith.addf {{.*}} : vector<32xf32>
  %0 = attn.image_tokens %x, %class, %p : tensor<?x64xf32>, tensor<1x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Near miss: without learned tokens there is no select.
// CHECK-LABEL: @no_tokens
func.func @no_tokens(%x: tensor<?x64xf32>, %none: tensor<0x64xf32>, %p: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: arith.select {{.*}} : vector<32xf32>
  // CHECK: arith.addf {{.*}} : vector<32xf32>
  %0 = attn.image_tokens %x, %none, %p : tensor<?x64xf32>, tensor<0x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Offsets are a loop on the caller's thread; then each task copies a line as wide as the result.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x64xf32>, %rows: index, %length: index) -> (tensor<?xi32>, tensor<?x?x49xf32>) {
  // CHECK-NOT: scf.forall
  // CHECK: scf.for
  // CHECK: tensor.insert %{{.*}} : tensor<?xi32>
  %0 = attn.equal_rows %rows, %length : tensor<?xi32>
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x?x49xf32>)
  // CHECK: vector.transfer_write {{.*}} : vector<32xf32>, tensor<49xf32>
  %1 = attn.unpack_rows %x, %length : tensor<?x64xf32> -> tensor<?x?x49xf32>
  return %0, %1 : tensor<?xi32>, tensor<?x?x49xf32>
}

// -----

// A tensor of higher rank has no padding; the dims before its columns are in the grid.
// CHECK-LABEL: @unpacked_weights
func.func @unpacked_weights(%w: tensor<?x2x3x17xf32>, %length: index) -> tensor<?x?x2x3x17xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) in (%{{.*}}, %{{.*}}, 2, 3) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x?x2x3x17xf32>)
  // CHECK: vector.transfer_read %{{.*}}[%{{.*}}, %[[I]], %[[J]], %{{.*}}]
  // CHECK: vector.transfer_write {{.*}} : vector<32xf32>, tensor<17xf32>
  %0 = attn.unpack_rows %w, %length : tensor<?x2x3x17xf32> -> tensor<?x?x2x3x17xf32>
  return %0 : tensor<?x?x2x3x17xf32>
}
