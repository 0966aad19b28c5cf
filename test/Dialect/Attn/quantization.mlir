// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK: attn.parameter @w : tensor<64x96x!attn.quantized<u4 group 32 axis 0>>
attn.parameter @w : tensor<64x96x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">]
// CHECK: attn.parameter @z layers 2 : tensor<2x160x32x!attn.quantized<u4 group 32 axis 0 period 80 zero_points = true>>
attn.parameter @z layers 2 : tensor<2x160x32x!attn.quantized<u4 group 32 axis 0 period 80 zero_points = true>> from [#attn.source<"z.{layer}">]

// Blocks of a checkpoint, and rows for groups of 16.
// CHECK: attn.parameter @blocks : tensor<64x256x!attn.quantized<q6_k group 16 axis 1>> from [#attn.source<"blocks" : q6_k>]
attn.parameter @blocks : tensor<64x256x!attn.quantized<q6_k group 16 axis 1>> from [#attn.source<"blocks" : q6_k>]
// CHECK: attn.parameter @some : tensor<256x32xf32> from [#attn.source<"blocks" : q6_k 64x256, slice<dim = 0, 32 to 64>, transpose<1, 0>>]
attn.parameter @some : tensor<256x32xf32> from [#attn.source<"blocks" : q6_k 64x256, slice<dim = 0, 32 to 64>, transpose<1, 0>>]
// CHECK-LABEL: @rows
// CHECK-SAME: tensor<?x256x!attn.quantized<s8 group 16 axis 1>>
func.func private @rows(tensor<?x256x!attn.quantized<s8 group 16 axis 1>>)

// CHECK-LABEL: @product
func.func @product(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  // CHECK: attn.quantize_rows %{{.*}} : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<64x96x!attn.quantized<u4 group 32 axis 0>>
  // CHECK: attn.linear %{{.*}} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// A table that is the head as well: the head sums over its columns.
// CHECK-LABEL: @table
func.func @table(%ids: tensor<?xi32>, %t: tensor<99x64x!attn.quantized<u8 group 0 axis 1>>) -> tensor<?x64xf32> {
  // CHECK: attn.embedding %{{.*}} : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}
