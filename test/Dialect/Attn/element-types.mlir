// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --canonicalize %s | FileCheck %s --check-prefix=CANONICAL

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

// A rounding stays; what every number survives goes.
// CANONICAL-LABEL: @casts
// CANONICAL-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xbf16>
func.func @casts(%x: tensor<?x8xf32>, %y: tensor<?x8xbf16>) -> (tensor<?x8xf32>, tensor<?x8xbf16>, tensor<?x8xf32>, tensor<?x8xbf16>) {
  // CANONICAL: %[[ROUNDED:.*]] = attn.cast %[[X]] : tensor<?x8xf32> -> tensor<?x8xbf16>
  %0 = attn.cast %x : tensor<?x8xf32> -> tensor<?x8xbf16>
  // CANONICAL-NEXT: %[[WIDE:.*]] = attn.cast %[[ROUNDED]] : tensor<?x8xbf16> -> tensor<?x8xf32>
  %1 = attn.cast %0 : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = attn.cast %y : tensor<?x8xbf16> -> tensor<?x8xf32>
  %3 = attn.cast %2 : tensor<?x8xf32> -> tensor<?x8xbf16>
  %4 = attn.cast %x : tensor<?x8xf32> -> tensor<?x8xf32>
  // CANONICAL-NEXT: %[[HALF:.*]] = attn.cast %[[Y]] : tensor<?x8xbf16> -> tensor<?x8xf16>
  %5 = attn.cast %y : tensor<?x8xbf16> -> tensor<?x8xf16>
  // bf16 does not hold what f16 does, so both roundings stay.
  // CANONICAL-NEXT: %[[BACK:.*]] = attn.cast %[[HALF]] : tensor<?x8xf16> -> tensor<?x8xbf16>
  %6 = attn.cast %5 : tensor<?x8xf16> -> tensor<?x8xbf16>
  %7 = attn.add %3, %6 : tensor<?x8xbf16>
  // CANONICAL-NEXT: %[[SUM:.*]] = attn.add %[[Y]], %[[BACK]]
  // CANONICAL-NEXT: return %[[WIDE]], %[[SUM]], %[[X]], %[[Y]]
  return %1, %7, %4, %3 : tensor<?x8xf32>, tensor<?x8xbf16>, tensor<?x8xf32>, tensor<?x8xbf16>
}
