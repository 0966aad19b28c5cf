// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// Activations, weights and results of f32, bf16 and f16, each as it likes where an op computes.
// CHECK-LABEL: @mixed
func.func @mixed(%x: tensor<?x64xbf16>, %w: tensor<64x96xf16>, %r: tensor<?x96xf16>, %ids: tensor<?xi32>, %v: tensor<64xf32>)
    -> (tensor<?x96xbf16>, tensor<?x96xf16>, tensor<?x64xbf16>) {
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64x96xf16> -> tensor<?x96xbf16>
  %0 = attn.linear %x, %w : tensor<?x64xbf16>, tensor<64x96xf16> -> tensor<?x96xbf16>
  // CHECK: attn.embedding %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<64x96xf16> -> tensor<?x96xf16>
  %1 = attn.embedding %ids, %w : tensor<?xi32>, tensor<64x96xf16> -> tensor<?x96xf16>
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} epsilon {{.*}} : tensor<?x64xbf16>, tensor<64xf32>
  %2 = attn.rms_norm %x, %v epsilon 1.0e-6 : tensor<?x64xbf16>, tensor<64xf32>
  return %0, %1, %2 : tensor<?x96xbf16>, tensor<?x96xf16>, tensor<?x64xbf16>
}

// A recurrence's output has the type of its gates, its states that of the initial ones.
// CHECK-LABEL: @states
func.func @states(%gates: tensor<?x64xbf16>, %w: tensor<64x64xf32>, %begin: tensor<?xi32>, %h: tensor<?x64xf16>) -> (tensor<?x64xbf16>, tensor<?x64xf16>) {
  %0, %1 = attn.recurrence rnn_tanh %gates, %w rows(%begin) init(%h) : tensor<?x64xbf16>, tensor<64x64xf32>, tensor<?xi32>, tensor<?x64xf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xf16>
}

// The output of linear attention and of a convolution has the type of their first operand; states stay f32.
// CHECK-LABEL: @kept
func.func @kept(%q: tensor<?x2x8xbf16>, %v: tensor<?x2x16xf32>, %s: tensor<?x2x8x16xf32>, %x: tensor<?x8xf16>, %w: tensor<4x8xf32>, %t: tensor<?x3x8xf32>, %begin: tensor<?xi32>)
    -> (tensor<?x2x16xbf16>, tensor<?x2x8x16xf32>, tensor<?x8xf16>, tensor<?x3x8xf32>) {
  %0, %1 = attn.linear_attention linear %q, %q, %v rows(%begin) state(%s : tensor<?x2x8x16xf32>) : tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?x2x16xf32>, tensor<?xi32>
  %2, %3 = attn.short_conv %x, %w rows(%begin) state(%t : tensor<?x3x8xf32>) : tensor<?x8xf16>, tensor<4x8xf32>, tensor<?xi32>
  return %0, %1, %2, %3 : tensor<?x2x16xbf16>, tensor<?x2x8x16xf32>, tensor<?x8xf16>, tensor<?x3x8xf32>
}
