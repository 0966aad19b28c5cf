// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// A grid over blocks of 112 rows and panels, tiles of 14 rows, of 4, then single rows; the bias in one generic.
// CHECK-LABEL: @bias
func.func @bias(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2) shared_outs
  // CHECK: scf.for
  // CHECK: linalg.matmul ins(%{{.*}} : tensor<14x64xf32>, tensor<64x32xf32>)
  // CHECK: linalg.generic
  // CHECK: arith.addf
  // CHECK: scf.for
  // CHECK: linalg.matmul ins(%{{.*}} : tensor<4x64xf32>
  // CHECK: scf.for
  // CHECK: linalg.matmul ins(%{{.*}} : tensor<1x64xf32>, tensor<64x32xf32>)
  %y = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// A residual that nothing reads afterwards is the destination: no tensor is made for the result.
// CHECK-LABEL: @in_place
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xf32>
func.func @in_place(%r: tensor<?x32xf32>, %x: tensor<?x64xf32>, %w: tensor<1x64x32xf32>) -> tensor<?x32xf32> {
  // CHECK: shared_outs(%{{.*}} = %[[R]])
  %y = attn.linear %x, %w, (%r) : tensor<?x64xf32>, tensor<1x64x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.addf %sum, %old : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x32xf32>
}

// -----

// Near miss: the residual is read again, so it must stay.
// CHECK-LABEL: @read_again
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xf32>
func.func @read_again(%r: tensor<?x32xf32>, %x: tensor<?x64xf32>, %w: tensor<1x64x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  // CHECK: %[[E:.*]] = tensor.empty
  // CHECK: shared_outs(%{{.*}} = %[[E]])
  %y = attn.linear %x, %w, (%r) : tensor<?x64xf32>, tensor<1x64x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.addf %sum, %old : f32
    attn.yield %0 : f32
  }
  return %y, %r : tensor<?x32xf32>, tensor<?x32xf32>
}
