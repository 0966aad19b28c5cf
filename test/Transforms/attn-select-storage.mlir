// RUN: rapt-opt %s --attn-select-storage=dtype=bf16 | FileCheck %s
// RUN: not rapt-opt %s --attn-select-storage=dtype=f64 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: storage type must be f32, bf16 or f16, found 'f64'

// Matrices take the type, vectors stay.
// CHECK: @w : tensor<64x80xbf16>
// CHECK: @b : tensor<80xf32>
attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
attn.parameter @b : tensor<80xf32> from [#attn.source<"b">]
func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
  // CHECK: attn.parameter_slice @w : tensor<64x80xbf16>
  %w = attn.parameter_slice @w : tensor<64x80xf32>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}
