// Linalg on tensors has no loops: a message, whatever text the pass is given.
// RUN: rapt-opt %s --attn-linalg-to-loops -verify-diagnostics

func.func @tensors(%x: tensor<4xf32>, %c: f32) -> tensor<4xf32> {
  // expected-error @below {{'linalg.fill' op has no loops: it is not bufferized}}
  %y = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
