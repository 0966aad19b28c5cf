// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK: attn.dim @tokens min 1 max 4096
attn.dim @tokens min 1 max 4096
// CHECK: attn.parameter @wte : tensor<97x64xf32> from [#attn.source<"wte.weight">]
attn.parameter @wte : tensor<97x64xf32> from [#attn.source<"wte.weight">]
// CHECK: attn.parameter @some layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.w">] {layer_numbers = array<i64: 1, 4>}
attn.parameter @some layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.w">] {layer_numbers = array<i64: 1, 4>}
// CHECK: attn.parameter @qkv layers 2 : tensor<2x64x96xbf16> from concat<dim = 1> [#attn.source<"h.{layer}.q" : 64x64, transpose<1, 0>>, #attn.source<"h.{layer}.k" : 32x64, transpose<1, 0>>] {first_layer = 3 : i64}
attn.parameter @qkv layers 2 : tensor<2x64x96xbf16> from concat<dim = 1> [#attn.source<"h.{layer}.q" : 64x64, transpose<1, 0>>, #attn.source<"h.{layer}.k" : 32x64, transpose<1, 0>>] {first_layer = 3 : i64}
// By rows: padded behind all columns, behind each group of columns, along whose rows a quantized matrix has its groups, and of one element.
// CHECK: attn.parameter @rows : tensor<64x96xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80]>, offset = 64 : i64, stride = 24576 : i64}
attn.parameter @rows : tensor<64x96xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80]>, offset = 64 : i64, stride = 24576 : i64}
// CHECK: attn.parameter @quantized layers 2 : tensor<2x64x192x!attn.quantized<u4 group 32 axis 1 period 80>> {{.*}}layout = #attn.rows<shape = [64, 160], column_group = 80>
attn.parameter @quantized layers 2 : tensor<2x64x192x!attn.quantized<u4 group 32 axis 1 period 80>> from [#attn.source<"{layer}">] {layout = #attn.rows<shape = [64, 160], column_group = 80>}
// CHECK: attn.parameter @element : tensor<f32> from [#attn.source<"one">] {layout = #attn.rows<shape = []>}
attn.parameter @element : tensor<f32> from [#attn.source<"one">] {layout = #attn.rows<shape = []>}

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

// CHECK: attn.parameter @query layers 2 : tensor<2x64x64xf32> from [#attn.source<"h.{layer}.in_proj" : 192x64, slice<dim = 0, 0 to 64>>]
attn.parameter @query layers 2 : tensor<2x64x64xf32> from [#attn.source<"h.{layer}.in_proj" : 192x64, slice<dim = 0, 0 to 64>>]
// CHECK: attn.parameter @key : tensor<48x64xf32> from [#attn.source<"in_proj" : 192x48, slice<dim = 0, 64 to 128>, transpose<1, 0>>]
attn.parameter @key : tensor<48x64xf32> from [#attn.source<"in_proj" : 192x48, slice<dim = 0, 64 to 128>, transpose<1, 0>>]

// All transforms. Shapes that the type tells may be left out.
// CHECK: attn.parameter @heads : tensor<12x64x768xbf16> from [#attn.source<"c_attn" : 768x2304, slice<dim = 1, 768 to 1536>, transpose<1, 0>, reshape<12x64x768>, cast<bf16>, scale<1.250000e-01>>]
attn.parameter @heads : tensor<12x64x768xbf16> from [#attn.source<"c_attn" : 768x2304, slice<dim = 1, 768 to 1536>, transpose<1, 0>, reshape<12x64x768>, cast<bf16>, scale<0.125>>]
// CHECK: attn.parameter @permuted : tensor<2x3x5xf32> from [#attn.source<"p", cast<f16>, transpose<2, 0, 1>, scale<-1.500000e+00>>]
attn.parameter @permuted : tensor<2x3x5xf32> from [#attn.source<"p", cast<f16>, transpose<2, 0, 1>, scale<-1.5>>]
// CHECK: attn.parameter @gains : tensor<5xf32> from [#attn.source<"g", add<1.000000e+00>>]
attn.parameter @gains : tensor<5xf32> from [#attn.source<"g", add<1.0>>]
// CHECK: attn.parameter @scalar : tensor<f32> from [#attn.source<"s" : 1x1, reshape<[]>>]
attn.parameter @scalar : tensor<f32> from [#attn.source<"s" : 1x1, reshape<[]>>]
// CHECK: attn.parameter @vector : tensor<1xf32> from [#attn.source<"s" : [], reshape<1>>]
attn.parameter @vector : tensor<1xf32> from [#attn.source<"s" : [], reshape<1>>]
// CHECK: attn.parameter @experts layers 3 : tensor<3x2x8x4xf32> from stack<dim = 0> [#attn.source<"{layer}.0.up", transpose<1, 0>>, #attn.source<"{layer}.1.up", transpose<1, 0>>]
attn.parameter @experts layers 3 : tensor<3x2x8x4xf32> from stack<dim = 0> [#attn.source<"{layer}.0.up", transpose<1, 0>>, #attn.source<"{layer}.1.up", transpose<1, 0>>]
// CHECK: attn.parameter @middle : tensor<2x5x4xf32> from concat<dim = 1> [#attn.source<"a" : 2x3x4>, #attn.source<"b" : 2x2x4>]
attn.parameter @middle : tensor<2x5x4xf32> from concat<dim = 1> [#attn.source<"a" : 2x3x4>, #attn.source<"b" : 2x2x4>]
// CHECK: attn.parameter @columns : tensor<4x2xf32> from stack<dim = 1> [#attn.source<"a">, #attn.source<"b">]
attn.parameter @columns : tensor<4x2xf32> from stack<dim = 1> [#attn.source<"a">, #attn.source<"b">]
// A stack of one, as of a model with one expert.
// CHECK: attn.parameter @one : tensor<1x4xf32> from stack<dim = 0> [#attn.source<"a">]
attn.parameter @one : tensor<1x4xf32> from stack<dim = 0> [#attn.source<"a">]
