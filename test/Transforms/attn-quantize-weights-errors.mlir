// RUN: rapt-opt %s --attn-quantize-weights="mode=w8 group=128" --split-input-file --verify-diagnostics
// RUN: not rapt-opt %s --attn-quantize-weights="mode=w2" --split-input-file 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not rapt-opt %s --attn-quantize-weights="group=48" --split-input-file 2>&1 | FileCheck %s --check-prefix=GROUP
// MODE: quantization must be w8a8, w8, w4 or stored, found 'w2'
// GROUP: groups have 32, 64 or 128 elements, found 48

// Heads of 80 channels are padded to 96 each.
// expected-error@+1 {{cannot be quantized in groups of 128: the rows of tensor 'h.{layer}.out' come in heads of 80, padded to 96, which 128 does not divide}}
attn.parameter @out layers 2 : tensor<2x160x64xf32> from [#attn.source<"h.{layer}.out">]
func.func @f(%x: tensor<?x2x80xf32>, %i: index) -> tensor<?x64xf32> {
  %0 = attn.merge_heads %x : tensor<?x2x80xf32> -> tensor<?x160xf32>
  %w = attn.parameter_slice @out[%i] : tensor<160x64xf32>
  %y = attn.linear %0, %w : tensor<?x160xf32>, tensor<160x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{tensor 'deep' sums over 65537 rows, sums of integers over at most 65536}}
attn.parameter @deep : tensor<65537x64xf32> from [#attn.source<"deep">]
func.func @f(%x: tensor<?x65537xf32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @deep : tensor<65537x64xf32>
  %y = attn.linear %x, %w : tensor<?x65537xf32>, tensor<65537x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has no matrix that can be quantized: weights of matmuls and tables of look-ups}}
module {
  func.func @kernel(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>) -> tensor<?x32xf32> {
    %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}

// -----

// expected-error@+1 {{cannot be quantized: the checkpoint has tensor 'blocks' in Q4_K, which is quantized already}}
attn.parameter @blocks : tensor<64x256xf32> from [#attn.source<"blocks" : q4_k>]
func.func @f(%x: tensor<?x256xf32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @blocks : tensor<64x256xf32>
  %y = attn.linear %x, %w transposed : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
