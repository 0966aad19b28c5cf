// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @longer_texts
// CHECK: attn.rotary_table %{{.*}} frequencies [1.000000e+00, 5.000000e-01] beyond 16 of %{{.*}} frequencies [5.000000e-01, 2.500000e-01] : tensor<?xi32>, tensor<?xi32> -> tensor<?x2xf32>
func.func @longer_texts(%p: tensor<?xi32>, %lengths: tensor<?xi32>) -> tensor<?x2xf32> {
  %0, %1 = attn.rotary_table %p frequencies [1.0, 0.5] beyond 16 of %lengths frequencies [0.5, 0.25] : tensor<?xi32>, tensor<?xi32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// CHECK-LABEL: @counted
// CHECK: attn.positions %{{.*}}, %{{.*}} padding 1 : tensor<?xi32>, tensor<?xi32>
func.func @counted(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?xi32> {
  %0 = attn.positions %tokens, %begin padding 1 : tensor<?xi32>, tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK-LABEL: @positions
func.func @positions(%tokens: tensor<?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: attn.positions %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %0 = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x8x4xf32>, %p: tensor<?xi32>) -> tensor<?x8x4xf32> {
  // CHECK: attn.rotary_table %{{.*}} frequencies [1.000000e+00, 0.00999999977] : tensor<?xi32> -> tensor<?x2xf32>
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
  // CHECK: attn.rotary_table %{{.*}} frequencies [1.000000e+00] {magnitude = 1.250000e+00 : f32} : tensor<?xi32> -> tensor<?x1xf32>
  %cos1, %sin1 = attn.rotary_table %p frequencies [1.0] {magnitude = 1.25 : f32} : tensor<?xi32> -> tensor<?x1xf32>
  // Frequencies keep their bits, with nine digits where it takes as many.
  // CHECK: frequencies [1.000000e-01, 1.000000e-03, 0.316227764, 1.7782794E-4]
  attn.rotary_table %p frequencies [0.1, 0.001, 0.31622776, 1.7782794e-04] : tensor<?xi32> -> tensor<?x4xf32>
  // CHECK: attn.rope %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x4xf32>, tensor<?x2xf32>
  %0 = attn.rope %x, %cos, %sin : tensor<?x8x4xf32>, tensor<?x2xf32>
  // CHECK: attn.rope %{{.*}}, %{{.*}}, %{{.*}} interleaved : tensor<?x8x4xf32>, tensor<?x1xf32>
  %1 = attn.rope %0, %cos1, %sin1 interleaved : tensor<?x8x4xf32>, tensor<?x1xf32>
  // CHECK: attn.rope %{{.*}}, %{{.*}}, %{{.*}} heads 6 : tensor<?x8x4xf32>, tensor<?x2xf32>
  %2 = attn.rope %1, %cos, %sin heads 6 : tensor<?x8x4xf32>, tensor<?x2xf32>
  return %2 : tensor<?x8x4xf32>
}

// CHECK-LABEL: @sinusoids
func.func @sinusoids(%p: tensor<?xi32>) -> (tensor<?x3xf32>, tensor<?x32xf32>) {
  // CHECK: attn.sinusoids %{{.*}} frequencies [1.000000e+00, 1.000000e+00, 0.00999999977] : tensor<?xi32> -> tensor<?x3xf32>
  %0 = attn.sinusoids %p frequencies [1.0, 1.0, 0.01] : tensor<?xi32> -> tensor<?x3xf32>
  // CHECK: attn.sinusoids %{{.*}} halves first 2 : tensor<?xi32> -> tensor<?x4xf32>
  %halves = attn.sinusoids %p frequencies [1.0, 0.01, 1.0, 0.01] halves first 2 : tensor<?xi32> -> tensor<?x4xf32>
  // CHECK: attn.sinusoids %{{.*}} : tensor<?xi32> -> tensor<?x32xf32>
  %1 = attn.sinusoids %p frequencies [1.0, 1.0, 0.01] : tensor<?xi32> -> tensor<?x32xf32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x32xf32>
}
