// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK: @f32 : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 48], interleave = 1>}
attn.parameter @f32 : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 48], interleave = 1>}
// VNNI-packed; three groups of 33 columns in two panels each, and an odd number of rows.
// CHECK: @bf16 layers 2 : tensor<2x6x18x64xbf16> {{.*}}{layout = #attn_cpu.packed<shape = [35, 99] column_group = 33, interleave = 2>}
attn.parameter @bf16 layers 2 : tensor<2x6x18x64xbf16> from [#attn.source<"{layer}">] {layout = #attn_cpu.packed<shape = [35, 99] column_group = 33, interleave = 2>}
// CHECK: @quantized : tensor<1x64x32x!attn.quantized<u4 group 32 axis 0 period 16>> {{.*}}{layout = #attn_cpu.packed<shape = [32, 32] row_group = 16, interleave = 8>}
attn.parameter @quantized : tensor<1x64x32x!attn.quantized<u4 group 32 axis 0 period 16>> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [32, 32] row_group = 16, interleave = 8>}
