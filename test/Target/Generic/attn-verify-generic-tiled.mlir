// RUN: rapt-opt %s --attn-verify-generic=tiled --verify-diagnostics --split-input-file

// A module that keeps the contract of tiled: declarations, slices of parameters and sizes stay.
module attributes {attn.target = {target = "generic"}} {
attn.dim @n min 0 max 64
attn.parameter @w : tensor<64x96xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80]>, offset = 0 : i64, stride = 24576 : i64}
func.func @slice() -> tensor<64x96xf32> {
  %w = attn.parameter_slice @w : tensor<64x96xf32>
  return %w : tensor<64x96xf32>
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @whole(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{is left whole: the tiled stage promises tiles}}
  %y = attn.activation relu %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.target, which the tiled stage promises}}
module {
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @product(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'linalg.matmul' op is left whole: the tiled stage promises tiles in grids (scf.forall)}}
  %z = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%y : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
// expected-error@+1 {{'func.func' op has a value of type 'tensor<8xcomplex<f32>>'; the tiled stage has caches, and scalars and tensors}}
func.func @complex(%x: tensor<8xcomplex<f32>>) {
  return
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
// Near miss: a grid of one task is folded into its body.
func.func @small(%x: tensor<14x64xf32>, %y: tensor<14x64xf32>) -> tensor<14x64xf32> {
  %z = linalg.exp ins(%x : tensor<14x64xf32>) outs(%y : tensor<14x64xf32>) -> tensor<14x64xf32>
  return %z : tensor<14x64xf32>
}
}
