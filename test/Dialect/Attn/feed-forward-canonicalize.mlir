// RUN: rapt-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: @relu_of_relu
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>)
func.func @relu_of_relu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.*]] = attn.activation relu %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %0 = attn.activation relu %x : tensor<?x8xf32>
  %1 = attn.activation relu %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: @tanh_of_tanh
func.func @tanh_of_tanh(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-COUNT-2: attn.activation tanh
  %0 = attn.activation tanh %x : tensor<?x8xf32>
  %1 = attn.activation tanh %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// Ops without effects go when nothing uses them.
// CHECK-LABEL: @unused
func.func @unused(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) {
  // CHECK-NEXT: return
  %0 = attn.linear %x, %w, (%b) : tensor<?x8xf32>, tensor<8x8xf32>, (tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %1 = arith.addf %sum, %bias : f32
    attn.yield %1 : f32
  }
  return
}
