// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @positions
func.func @positions(%tokens: tensor<?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: attn.positions %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %0 = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x8x4xf32>, %p: tensor<?xi32>) -> tensor<?x8x4xf32> {
  // CHECK: attn.rope %{{.*}}, %{{.*}} frequencies [1.000000e+00, 1.000000e-02] : tensor<?x8x4xf32>, tensor<?xi32>
  %0 = attn.rope %x, %p frequencies [1.0, 0.01] : tensor<?x8x4xf32>, tensor<?xi32>
  // CHECK: attn.rope %{{.*}}, %{{.*}} frequencies [1.000000e+00] {magnitude = 1.250000e+00 : f32} : tensor<?x8x4xf32>, tensor<?xi32>
  %1 = attn.rope %0, %p frequencies [1.0] {magnitude = 1.25 : f32} : tensor<?x8x4xf32>, tensor<?xi32>
  return %1 : tensor<?x8x4xf32>
}
