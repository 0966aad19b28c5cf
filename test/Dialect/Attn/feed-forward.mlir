// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x64xf32>, %w: tensor<64x96xbf16>, %t: tensor<96x64xf32>, %p: tensor<3x48x32xf32>, %b: tensor<96xf32>,
                  %r: tensor<?x96xf32>) -> tensor<?x96xf32> {
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x96xbf16> -> tensor<?x96xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xbf16> -> tensor<?x96xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} transposed : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  %1 = attn.linear %x, %t transposed : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x48x32xf32> -> tensor<?x70xf32>
  %2 = attn.linear %x, %p {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x48x32xf32> -> tensor<?x70xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}}, (%{{.*}}, %{{.*}}) : tensor<?x64xf32>, tensor<64x96xbf16>, (tensor<96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32> {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[REST:.*]]: f32):
  // CHECK-NEXT: %[[A:.*]] = arith.addf %[[SUM]], %[[BIAS]] : f32
  // CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[REST]] : f32
  // CHECK-NEXT: attn.yield %[[B]] : f32
  // CHECK-NEXT: }
  %3 = attn.linear %x, %w, (%b, %r) : tensor<?x64xf32>, tensor<64x96xbf16>, (tensor<96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %bias: f32, %residual: f32):
    %4 = arith.addf %sum, %bias : f32
    %5 = arith.addf %4, %residual : f32
    attn.yield %5 : f32
  }
  return %3 : tensor<?x96xf32>
}

// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x4x16xf32>, %w: tensor<16x128xf32>, %t: tensor<128x16xbf16>, %p: tensor<4x16x32xf32>) -> tensor<?x4x32xf32> {
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32>
  %0 = attn.linear %x, %w : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} transposed : tensor<?x4x16xf32>, tensor<128x16xbf16> -> tensor<?x4x32xf32>
  %1 = attn.linear %x, %t transposed : tensor<?x4x16xf32>, tensor<128x16xbf16> -> tensor<?x4x32xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x4x16xf32>, tensor<4x16x32xf32> -> tensor<?x4x32xf32>
  %2 = attn.linear %x, %p {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x4x16xf32>, tensor<4x16x32xf32> -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<?x96xf32>, %y: tensor<?x96xf32>) -> tensor<?x96xf32> {
  // CHECK: attn.activation gelu %{{.*}} : tensor<?x96xf32>
  %0 = attn.activation gelu %x : tensor<?x96xf32>
  // CHECK: attn.activation gelu_tanh %{{.*}} : tensor<?x96xf32>
  %1 = attn.activation gelu_tanh %0 : tensor<?x96xf32>
  // CHECK: attn.activation relu %{{.*}} : tensor<?x96xf32>
  %2 = attn.activation relu %1 : tensor<?x96xf32>
  // CHECK: attn.activation silu %{{.*}} : tensor<?x96xf32>
  %3 = attn.activation silu %2 : tensor<?x96xf32>
  // CHECK: attn.activation tanh %{{.*}} : tensor<?x96xf32>
  %4 = attn.activation tanh %3 : tensor<?x96xf32>
  // CHECK: attn.activation sigmoid %{{.*}} : tensor<?x96xf32>
  %5 = attn.activation sigmoid %4 : tensor<?x96xf32>
  // CHECK: attn.activation quick_gelu %{{.*}} : tensor<?x96xf32>
  %6 = attn.activation quick_gelu %5 : tensor<?x96xf32>
  // CHECK: attn.clip %{{.*}} within 8.000000e+00 : tensor<?x96xf32>
  %clipped = attn.clip %6 within 8.0 : tensor<?x96xf32>
  // CHECK: attn.glu silu %{{.*}}, %{{.*}} : tensor<?x96xf32>
  %7 = attn.glu silu %6, %y : tensor<?x96xf32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<?x96xf32>
  %8 = arith.addf %7, %y : tensor<?x96xf32>
  return %8 : tensor<?x96xf32>
}

// CHECK-LABEL: @pairs
func.func @pairs(%x: tensor<?x63xf32>, %r: tensor<?x64xbf16>, %w: tensor<3x32x64xbf16>) -> (tensor<?x96xf32>, tensor<?x96xf32>) {
  // CHECK: attn.linear %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x63xf32>, tensor<3x32x64xbf16> -> tensor<?x96xf32>
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x63xf32>, tensor<3x32x64xbf16> -> tensor<?x96xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<3x32x64xbf16> -> tensor<?x96xf32>
  %2 = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<3x32x64xbf16> -> tensor<?x96xf32>
  return %0, %2 : tensor<?x96xf32>, tensor<?x96xf32>
}
