// RUN: rapt-opt %s --attn-quantize-weights=mode=stored | FileCheck %s

// Matrices that the checkpoint has in blocks get their type where matmuls sum along the blocks: as they are, transposed, rows of several tensors.
// CHECK: @transposed : tensor<512x64x!attn.quantized<q4_k group 32 axis 0>> from [#attn.source<"transposed" : q4_k, transpose<1, 0>>]
attn.parameter @transposed : tensor<512x64xf32> from [#attn.source<"transposed" : q4_k, transpose<1, 0>>]
// CHECK: @joined layers 2 : tensor<2x96x512x!attn.quantized<q6_k group 16 axis 1>>
attn.parameter @joined layers 2 : tensor<2x96x512xf32> from concat<dim = 0> [#attn.source<"a.{layer}" : q6_k 64x512>, #attn.source<"b.{layer}" : q6_k 40x512, slice<dim = 0, 8 to 40>>]
// CHECK: @tied : tensor<99x512x!attn.quantized<q8_0 group 32 axis 1>>
attn.parameter @tied : tensor<99x512xf32> from [#attn.source<"tied" : q8_0>]
// Rows of several layers' inputs, each of whole blocks, are rows of their own.
// CHECK: @layers : tensor<297x512x!attn.quantized<q4_k group 32 axis 1>>
attn.parameter @layers : tensor<297x512xf32> from [#attn.source<"layers" : q4_k 99x1536, reshape<297x512>>]
// Blocks go on across heads that are no whole groups.
// CHECK: @heads : tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>>
attn.parameter @heads : tensor<160x64xf32> from [#attn.source<"heads" : q4_0, transpose<1, 0>>]
// A matrix without blocks keeps its type.
// CHECK: @plain : tensor<64x512xf32>
attn.parameter @plain : tensor<64x512xf32> from [#attn.source<"plain">]
// Near misses, which stay what their blocks stand for: the matmul sums across the blocks;
// CHECK: @across : tensor<64x512xf32> from [#attn.source<"across" : q4_0>]
attn.parameter @across : tensor<64x512xf32> from [#attn.source<"across" : q4_0>]
// a slice takes a part of each row;
// CHECK: @part : tensor<64x512xf32>
attn.parameter @part : tensor<64x512xf32> from [#attn.source<"part" : q4_0 64x1024, slice<dim = 1, 512 to 1024>>]
// rows become several that cut a block;
// CHECK: @cut : tensor<12x128xf32>
attn.parameter @cut : tensor<12x128xf32> from [#attn.source<"cut" : q4_k 6x256, reshape<12x128>>]
// its numbers are scaled;
// CHECK: @scaled : tensor<64x512xf32>
attn.parameter @scaled : tensor<64x512xf32> from [#attn.source<"scaled" : q4_0 64x512, scale<2.0>>]
// tensors are beside one another along the blocks;
// CHECK: @beside : tensor<64x512xf32>
attn.parameter @beside : tensor<64x512xf32> from concat<dim = 1> [#attn.source<"c" : q4_0 64x256>, #attn.source<"d" : q4_0 64x256>]
// their blocks are of different types;
// CHECK: @mixed : tensor<64x512xf32>
attn.parameter @mixed : tensor<64x512xf32> from concat<dim = 0> [#attn.source<"e" : q4_0 32x512>, #attn.source<"f" : q4_1 32x512>]
// another op reads it.
// CHECK: @read : tensor<64x512xf32>
attn.parameter @read : tensor<64x512xf32> from [#attn.source<"read" : q4_0>]

// CHECK-LABEL: @f
func.func @f(%x: tensor<?x512xf32>, %y: tensor<?x64xf32>, %z: tensor<?x2x80xf32>, %ids: tensor<?xi32>, %i: index) -> (tensor<?x64xf32>, tensor<?x96xf32>, tensor<?x99xf32>, tensor<?x512xf32>,
    tensor<?x64xf32>, tensor<?x512xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<64x512xf32>, tensor<?x64xf32>, tensor<?x512xf32>, tensor<?x128xf32>) {
  // CHECK-DAG: %[[FOURS:.*]] = attn.quantize_rows %{{.*}} -> tensor<?x512x!attn.quantized<s8 group 32 axis 1>>
  // CHECK-DAG: %[[SIXES:.*]] = attn.quantize_rows %{{.*}} -> tensor<?x512x!attn.quantized<s8 group 16 axis 1>>
  // CHECK: attn.linear %[[FOURS]], {{.*}}q4_k group 32 axis 0
  %w0 = attn.parameter_slice @transposed : tensor<512x64xf32>
  %0 = attn.linear %x, %w0 : tensor<?x512xf32>, tensor<512x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear %[[SIXES]], {{.*}}q6_k group 16 axis 1
  %w1 = attn.parameter_slice @joined[%i] : tensor<96x512xf32>
  %1 = attn.linear %x, %w1 transposed : tensor<?x512xf32>, tensor<96x512xf32> -> tensor<?x96xf32>
  // CHECK: attn.linear %[[FOURS]], {{.*}}q8_0 group 32 axis 1
  %w2 = attn.parameter_slice @tied : tensor<99x512xf32>
  %2 = attn.linear %x, %w2 transposed : tensor<?x512xf32>, tensor<99x512xf32> -> tensor<?x99xf32>
  // CHECK: attn.embedding {{.*}}q8_0 group 32 axis 1
  %3 = attn.embedding %ids, %w2 : tensor<?xi32>, tensor<99x512xf32> -> tensor<?x512xf32>
  %w4 = attn.parameter_slice @plain : tensor<64x512xf32>
  %4 = attn.linear %x, %w4 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %w5 = attn.parameter_slice @across : tensor<64x512xf32>
  %5 = attn.linear %y, %w5 : tensor<?x64xf32>, tensor<64x512xf32> -> tensor<?x512xf32>
  %w6 = attn.parameter_slice @part : tensor<64x512xf32>
  %6 = attn.linear %x, %w6 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %w7 = attn.parameter_slice @scaled : tensor<64x512xf32>
  %7 = attn.linear %x, %w7 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %w8 = attn.parameter_slice @beside : tensor<64x512xf32>
  %8 = attn.linear %x, %w8 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %w9 = attn.parameter_slice @mixed : tensor<64x512xf32>
  %9 = attn.linear %x, %w9 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %w10 = attn.parameter_slice @read : tensor<64x512xf32>
  %10 = attn.linear %x, %w10 transposed : tensor<?x512xf32>, tensor<64x512xf32> -> tensor<?x64xf32>
  %11 = attn.merge_heads %z : tensor<?x2x80xf32> -> tensor<?x160xf32>
  %w11 = attn.parameter_slice @heads : tensor<160x64xf32>
  %12 = attn.linear %11, %w11 : tensor<?x160xf32>, tensor<160x64xf32> -> tensor<?x64xf32>
  %13 = arith.addf %10, %12 : tensor<?x64xf32>
  %w14 = attn.parameter_slice @layers : tensor<297x512xf32>
  %14 = attn.embedding %ids, %w14 : tensor<?xi32>, tensor<297x512xf32> -> tensor<?x512xf32>
  %w15 = attn.parameter_slice @cut : tensor<12x128xf32>
  %15 = attn.embedding %ids, %w15 : tensor<?xi32>, tensor<12x128xf32> -> tensor<?x128xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %w10, %13, %14, %15 : tensor<?x64xf32>, tensor<?x96xf32>, tensor<?x99xf32>, tensor<?x512xf32>,
    tensor<?x64xf32>, tensor<?x512xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<64x512xf32>, tensor<?x64xf32>, tensor<?x512xf32>, tensor<?x128xf32>
}
