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
