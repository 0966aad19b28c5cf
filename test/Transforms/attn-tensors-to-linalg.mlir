// RUN: rapt-opt %s --attn-tensors-to-linalg | FileCheck %s

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xi1> {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>) outs(%{{.*}} : tensor<?x8xi1>)
  // CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
  // CHECK: linalg.yield %{{.*}} : i1
  %less = arith.cmpf olt, %x, %y : tensor<?x8xf32>
  return %less : tensor<?x8xi1>
}

// Arithmetic with attn's interfaces stays: on matrices of floats; casts on any tensors.
// CHECK-LABEL: @kept
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : tensor<?x?xf32>
// CHECK-NEXT: math.tanh %{{.*}} : tensor<?x?xf32>
// CHECK-NEXT: arith.extf %{{.*}} : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: return
func.func @kept(%x: tensor<?x?xf32>, %y: tensor<4xbf16>) -> (tensor<?x?xf32>, tensor<4xf32>) {
  %0 = arith.addf %x, %x : tensor<?x?xf32>
  %1 = math.tanh %0 : tensor<?x?xf32>
  %2 = arith.extf %y : tensor<4xbf16> to tensor<4xf32>
  return %1, %2 : tensor<?x?xf32>, tensor<4xf32>
}

// Near miss: no matrix, no float of attn, a rounding that attn does not have.
// CHECK-LABEL: @converted
// CHECK-COUNT-3: linalg.generic
func.func @converted(%x: tensor<?x2x8xf32>, %y: tensor<?x8xf64>, %z: tensor<?x8xf32>) -> (tensor<?x2x8xf32>, tensor<?x8xf64>, tensor<?x8xbf16>) {
  %0 = arith.addf %x, %x : tensor<?x2x8xf32>
  %1 = arith.addf %y, %y : tensor<?x8xf64>
  %2 = arith.truncf %z downward : tensor<?x8xf32> to tensor<?x8xbf16>
  return %0, %1, %2 : tensor<?x2x8xf32>, tensor<?x8xf64>, tensor<?x8xbf16>
}

// Near miss: scalars and constants stay.
// CHECK-LABEL: @scalars
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: return
func.func @scalars(%x: f32) -> (f32, tensor<4xf32>) {
  %0 = arith.addf %x, %x : f32
  %1 = arith.constant dense<1.0> : tensor<4xf32>
  return %0, %1 : f32, tensor<4xf32>
}

// CHECK-LABEL: @padded
// CHECK: %[[ROOM:.*]] = tensor.empty(%{{.*}}) : tensor<?x11xf32>
// CHECK: %[[FILLED:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[ROOM]] : tensor<?x11xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %[[FILLED]][0, 1] [%{{.*}}, 8] [1, 1]
func.func @padded(%x: tensor<?x8xf32>, %s: f32) -> tensor<?x11xf32> {
  %y = tensor.pad %x low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %s : f32
  } : tensor<?x8xf32> to tensor<?x11xf32>
  return %y : tensor<?x11xf32>
}

// CHECK-LABEL: @joined
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK-NOT: tensor.concat
func.func @joined(%x: tensor<?x8xf32>, %y: tensor<?x4xf32>) -> tensor<?x12xf32> {
  %z = tensor.concat dim(1) %x, %y : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x12xf32>
  return %z : tensor<?x12xf32>
}

// CHECK-LABEL: @filled
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?xf32>)
func.func @filled(%s: f32, %n: index) -> tensor<?xf32> {
  %x = tensor.splat %s[%n] : tensor<?xf32>
  return %x : tensor<?xf32>
}
