// RUN: rapt-opt %s --attn-quantize-weights=mode=w8 | FileCheck %s

// Blocks whose numbers bf16 holds, as a directory's of MXFP4: they stay beside others that are quantized.
// CHECK: @blocks : tensor<96x64x!attn.quantized<mxfp4 group 32 axis 1>>
attn.parameter @blocks : tensor<96x64xbf16> from [#attn.source<"blocks" : mxfp4>]
// CHECK: @plain : tensor<96x64x!attn.quantized<u8 group 32 axis 1>>
attn.parameter @plain : tensor<96x64xbf16> from [#attn.source<"plain">]
// A near miss: the matmul sums across the blocks, so that only their numbers can be quantized.
// CHECK: @across : tensor<64x96x!attn.quantized<u8 group 32 axis 0>>
attn.parameter @across : tensor<64x96xbf16> from [#attn.source<"across" : mxfp4>]

func.func @f(%x: tensor<?x64xf32>) -> (tensor<?x96xf32>, tensor<?x96xf32>, tensor<?x96xf32>) {
  %w0 = attn.parameter_slice @blocks : tensor<96x64xbf16>
  // CHECK: attn.linear {{.*}}mxfp4 group 32 axis 1
  %0 = attn.linear %x, %w0 transposed : tensor<?x64xf32>, tensor<96x64xbf16> -> tensor<?x96xf32>
  %w1 = attn.parameter_slice @plain : tensor<96x64xbf16>
  %1 = attn.linear %x, %w1 transposed : tensor<?x64xf32>, tensor<96x64xbf16> -> tensor<?x96xf32>
  %w2 = attn.parameter_slice @across : tensor<64x96xbf16>
  %2 = attn.linear %x, %w2 : tensor<?x64xf32>, tensor<64x96xbf16> -> tensor<?x96xf32>
  return %0, %1, %2 : tensor<?x96xf32>, tensor<?x96xf32>, tensor<?x96xf32>
}
