// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @route
func.func @route(%x: tensor<?x128xf32>, %bias: tensor<128xf32>, %three: tensor<3x40xbf16>) -> tensor<3x2xf32> {
  // CHECK: attn.route softmax %{{.*}} of 128 : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %0:2 = attn.route softmax %x of 128 : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  // CHECK: attn.route sigmoid %{{.*}}, %{{.*}} of 128 within 4 of 8 groups by 2 normalized scale 2.500000e+00 : tensor<?x128xf32>, tensor<128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %1:2 = attn.route sigmoid %x, %bias of 128 within 4 of 8 groups by 2 normalized scale 2.5 : tensor<?x128xf32>, tensor<128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  // CHECK: attn.route softmax %{{.*}} of 33 normalized : tensor<3x40xbf16> -> tensor<3x2xf32>, tensor<3x2xi32>
  %2:2 = attn.route softmax %three of 33 normalized : tensor<3x40xbf16> -> tensor<3x2xf32>, tensor<3x2xi32>
  // CHECK: attn.route sigmoid %{{.*}} of 128 normalized scale 2.500000e+00 floor 9.99999997E-7 : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %3:2 = attn.route sigmoid %x of 128 normalized scale 2.5 floor 1.0e-6 : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %2#0 : tensor<3x2xf32>
}

// CHECK-LABEL: @group_rows
func.func @group_rows(%experts: tensor<?x8xi32>, %three: tensor<3x2xi32>) -> tensor<6xi32> {
  // CHECK: attn.group_rows %{{.*}} : tensor<?x8xi32> -> tensor<?xi32>, tensor<?x8xi32>, tensor<129x2xi32>
  %0:3 = attn.group_rows %experts : tensor<?x8xi32> -> tensor<?xi32>, tensor<?x8xi32>, tensor<129x2xi32>
  // CHECK: attn.group_rows %{{.*}} : tensor<3x2xi32> -> tensor<6xi32>, tensor<3x2xi32>, tensor<5x2xi32>
  %1:3 = attn.group_rows %three : tensor<3x2xi32> -> tensor<6xi32>, tensor<3x2xi32>, tensor<5x2xi32>
  return %1#0 : tensor<6xi32>
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x64xf32>, %w: tensor<64x160xf32>, %rows: tensor<160x64xf32>, %bias: tensor<160xf32>, %y: tensor<?x40xf32>, %groups: tensor<5x2xi32>) -> tensor<?x40xf32> {
  // CHECK: attn.linear %{{.*}}, %{{.*}} groups %{{.*}} : tensor<?x64xf32>, tensor<64x160xf32> groups tensor<5x2xi32> -> tensor<?x40xf32>
  %0 = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x160xf32> groups tensor<5x2xi32> -> tensor<?x40xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}}, (%{{.*}}, %{{.*}}) groups %{{.*}} transposed : tensor<?x64xf32>, tensor<160x64xf32>, (tensor<160xf32>, tensor<?x40xf32>) groups tensor<5x2xi32> -> tensor<?x40xf32> {
  %1 = attn.linear %x, %rows, (%bias, %y) groups %groups transposed : tensor<?x64xf32>, tensor<160x64xf32>, (tensor<160xf32>, tensor<?x40xf32>) groups tensor<5x2xi32> -> tensor<?x40xf32> {
  ^bb0(%sum: f32, %b: f32, %r: f32):
    %biased = arith.addf %sum, %b : f32
    %all = arith.addf %biased, %r : f32
    attn.yield %all : f32
  }
  return %1 : tensor<?x40xf32>
}

// CHECK-LABEL: @combine_rows
func.func @combine_rows(%x: tensor<?x40xf32>, %w: tensor<?x8xf32>, %indices: tensor<?x8xi32>, %one: tensor<?x1xf32>) -> tensor<?x40xf32> {
  // CHECK: attn.combine_rows %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x40xf32>, tensor<?x8xf32>, tensor<?x8xi32> -> tensor<?x40xf32>
  %0 = attn.combine_rows %x, %w, %indices : tensor<?x40xf32>, tensor<?x8xf32>, tensor<?x8xi32> -> tensor<?x40xf32>
  // CHECK: attn.combine_rows %{{.*}}, %{{.*}} : tensor<?x40xf32>, tensor<?x1xf32> -> tensor<?x40xf32>
  %1 = attn.combine_rows %0, %one : tensor<?x40xf32>, tensor<?x1xf32> -> tensor<?x40xf32>
  return %1 : tensor<?x40xf32>
}
