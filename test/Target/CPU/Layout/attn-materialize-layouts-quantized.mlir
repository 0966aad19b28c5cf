// RUN: rapt-opt %s --attn-materialize-layouts | FileCheck %s

// Panels of words: 4 rows of 8 bits or 8 rows of 4 bits; bytes are those of codes, bf16 scales, and zeros.
// 2 panels, 2 groups: 4 * (32 * 32 + 64).
// CHECK: @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> {{.*}}layout = #attn_cpu.packed<shape = [64, 40], interleave = 4>, offset = 0 : i64, stride = 4352 : i64
attn.parameter @w : tensor<64x40x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">]
// 1 panel of 35 rows, of which 2 groups are made: 2 * (32 * 32 / 2 + 64 + 64), two layers.
// CHECK: @z layers 2 : tensor<2x1x35x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> {{.*}}interleave = 8>, offset = 4352 : i64, stride = 1280 : i64
attn.parameter @z layers 2 : tensor<2x35x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> from [#attn.source<"z.{layer}">]
// A table is read by columns: its rows are the layout's columns. 4 panels of 64 * 32 + 64.
// CHECK: @t : tensor<4x64x32x!attn.quantized<u8 group 0 axis 0>> from [#attn.source<"t", transpose<1, 0>>] {layout = #attn_cpu.packed<shape = [64, 99], interleave = 4>, offset = 6912 : i64, stride = 8448 : i64
attn.parameter @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>> from [#attn.source<"t">]

// CHECK-LABEL: @f
func.func @f(%ids: tensor<?xi32>, %i: index, %q: tensor<?x35x!attn.quantized<s8 group 32 axis 1>>) -> (tensor<?x40xf32>, tensor<?x32xf32>) {
  %t = attn.parameter_slice @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
  // CHECK: %[[X:.*]] = attn.embedding %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x64x32x!attn.quantized<u8 group 0 axis 0>> -> tensor<?x64xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  %r = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<64x40x!attn.quantized<u8 group 32 axis 0>>
  // CHECK: attn.linear %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> -> tensor<?x40xf32>
  %y = attn.linear %r, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x40x!attn.quantized<u8 group 32 axis 0>> -> tensor<?x40xf32>
  %z = attn.parameter_slice @z[%i] : tensor<35x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>>
  // CHECK: attn.linear %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x35x!attn.quantized<s8 group 32 axis 1>>, tensor<1x35x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> -> tensor<?x32xf32>
  %v = attn.linear %q, %z : tensor<?x35x!attn.quantized<s8 group 32 axis 1>>, tensor<35x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> -> tensor<?x32xf32>
  return %y, %v : tensor<?x40xf32>, tensor<?x32xf32>
}
