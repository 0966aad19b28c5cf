// RUN: rapt-opt %s --attn-quantize-weights=mode=w8 | FileCheck %s

// The two matmuls of a low-rank change by groups of rows keep their types. Experts are such pairs but for the activation between them, and are quantized; so
// are two matmuls of all rows, one behind the other.
// CHECK: @narrow : tensor<12x64xf32>
attn.parameter @narrow : tensor<12x64xf32> from [#attn.source<"narrow">]
// CHECK: @wide : tensor<192x4xf32>
attn.parameter @wide : tensor<192x4xf32> from [#attn.source<"wide">]
// CHECK: @up : tensor<96x64x!attn.quantized<u8 group 32 axis 1>>
attn.parameter @up : tensor<96x64xf32> from [#attn.source<"up">]
// CHECK: @down : tensor<192x32x!attn.quantized<u8 group 32 axis 1>>
attn.parameter @down : tensor<192x32xf32> from [#attn.source<"down">]
// CHECK: @first : tensor<32x64x!attn.quantized<u8 group 32 axis 1>>
attn.parameter @first : tensor<32x64xf32> from [#attn.source<"first">]
// CHECK: @second : tensor<64x32x!attn.quantized<u8 group 32 axis 1>>
attn.parameter @second : tensor<64x32xf32> from [#attn.source<"second">]
func.func @f(%x: tensor<?x64xf32>, %groups: tensor<4x2xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  %narrow = attn.parameter_slice @narrow : tensor<12x64xf32>
  %wide = attn.parameter_slice @wide : tensor<192x4xf32>
  %0 = attn.linear %x, %narrow groups %groups transposed : tensor<?x64xf32>, tensor<12x64xf32> groups tensor<4x2xi32> -> tensor<?x4xf32>
  %1 = attn.linear %0, %wide groups %groups transposed : tensor<?x4xf32>, tensor<192x4xf32> groups tensor<4x2xi32> -> tensor<?x64xf32>
  %up = attn.parameter_slice @up : tensor<96x64xf32>
  %down = attn.parameter_slice @down : tensor<192x32xf32>
  %2 = attn.linear %x, %up groups %groups transposed : tensor<?x64xf32>, tensor<96x64xf32> groups tensor<4x2xi32> -> tensor<?x32xf32>
  %3 = attn.activation silu %2 : tensor<?x32xf32>
  %4 = attn.linear %3, %down groups %groups transposed : tensor<?x32xf32>, tensor<192x32xf32> groups tensor<4x2xi32> -> tensor<?x64xf32>
  %first = attn.parameter_slice @first : tensor<32x64xf32>
  %second = attn.parameter_slice @second : tensor<64x32xf32>
  %5 = attn.linear %x, %first transposed : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %6 = attn.linear %5, %second transposed : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %1, %4, %6 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
