// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK: attn.dim @tokens min 1 max 4096
attn.dim @tokens min 1 max 4096
// CHECK: attn.parameter @wte : tensor<97x64xf32> from [#attn.source<"wte.weight">]
attn.parameter @wte : tensor<97x64xf32> from [#attn.source<"wte.weight">]
// CHECK: attn.parameter @qkv layers 2 : tensor<2x64x96xbf16> from [#attn.source<"h.{layer}.q", transpose = true>, #attn.source<"h.{layer}.k", transpose = true>] {first_layer = 3 : i64}
attn.parameter @qkv layers 2 : tensor<2x64x96xbf16> from [#attn.source<"h.{layer}.q", transpose = true>, #attn.source<"h.{layer}.k", transpose = true>] {first_layer = 3 : i64}
// CHECK: attn.parameter @packed : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn.layout<panels, shape = [64, 48]
attn.parameter @packed : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn.layout<panels, shape = [64, 48], column_group = 0, row_group = 0, k = 1>, offset = 64 : i64}

// CHECK-LABEL: @read
func.func @read(%layer: index) -> (index, tensor<97x64xf32>, tensor<64x96xbf16>) {
  // CHECK: attn.dim_size @tokens : index
  %n = attn.dim_size @tokens : index
  // CHECK: attn.parameter_slice @wte : tensor<97x64xf32>
  %0 = attn.parameter_slice @wte : tensor<97x64xf32>
  // CHECK: attn.parameter_slice @qkv[%{{.*}}] : tensor<64x96xbf16>
  %1 = attn.parameter_slice @qkv[%layer] : tensor<64x96xbf16>
  return %n, %0, %1 : index, tensor<97x64xf32>, tensor<64x96xbf16>
}

// CHECK: attn.parameter @query layers 2 : tensor<2x64x64xf32> from [#attn.source<"h.{layer}.in_proj" rows(0, 64)>]
attn.parameter @query layers 2 : tensor<2x64x64xf32> from [#attn.source<"h.{layer}.in_proj" rows(0, 64)>]
// CHECK: attn.parameter @key : tensor<48x64xf32> from [#attn.source<"in_proj" rows(64, 128), transpose = true>]
attn.parameter @key : tensor<48x64xf32> from [#attn.source<"in_proj" rows(64, 128), transpose = true>]
