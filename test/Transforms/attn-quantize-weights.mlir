// RUN: rapt-opt %s --attn-quantize-weights="mode=w8a8" | FileCheck %s --check-prefixes=ALL,W8A8
// RUN: rapt-opt %s --attn-quantize-weights="mode=w4 group=64 zero-points" | FileCheck %s --check-prefixes=ALL,W4

// A weight; the table that is the head as well; a table; what keeps its type: vectors, few rows, other readers.
// W8A8: @w : tensor<64x80x!attn.quantized<u8 group 0 axis 0>>
// W4: @w : tensor<64x80x!attn.quantized<u4 group 64 axis 0 zero_points = true>>
attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
attn.parameter @v : tensor<64x80xf32> from [#attn.source<"v">]
// W8A8: @tied : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
// W4: @tied : tensor<99x64x!attn.quantized<u8 group 64 axis 1>>
attn.parameter @tied : tensor<99x64xf32> from [#attn.source<"tied">]
// W4: @positions : tensor<99x64x!attn.quantized<u8 group 64 axis 1>>
attn.parameter @positions : tensor<99x64xf32> from [#attn.source<"positions">]
// ALL: @types : tensor<2x64xf32>
attn.parameter @types : tensor<2x64xf32> from [#attn.source<"types">]
// ALL: @bias : tensor<80xf32>
attn.parameter @bias : tensor<80xf32> from [#attn.source<"bias">]
// ALL: @cell : tensor<20x80xf32>
attn.parameter @cell : tensor<20x80xf32> from [#attn.source<"cell">]
// Rounded logits would choose other experts.
// ALL: @router : tensor<64x40xf32>
attn.parameter @router : tensor<64x40xf32> from [#attn.source<"router">]
// W8A8: @experts : tensor<64x320x!attn.quantized<u8 group 0 axis 0>>
// W4: @experts : tensor<64x320x!attn.quantized<u4 group 64 axis 0 zero_points = true>>
attn.parameter @experts : tensor<64x320xf32> from [#attn.source<"experts">]
// ALL: @unused : tensor<20x80xf32>
attn.parameter @unused : tensor<20x80xf32> from [#attn.source<"unused">]

// Both matmuls of x take the same rows.
// ALL-LABEL: @gate
func.func @gate(%x: tensor<?x64xf32>) -> (tensor<?x80xf32>, tensor<?x80xf32>) {
  // W8A8: %[[Q:.*]] = attn.quantize_rows %{{.*}} : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 0 axis 1>>
  // W4: %[[Q:.*]] = attn.quantize_rows %{{.*}} : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 64 axis 1>>
  // ALL-NOT: attn.quantize_rows
  %w = attn.parameter_slice @w : tensor<64x80xf32>
  %v = attn.parameter_slice @v : tensor<64x80xf32>
  %b = attn.parameter_slice @bias : tensor<80xf32>
  // ALL: attn.linear %[[Q]],
  %0 = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x80xf32>, (tensor<80xf32>) -> tensor<?x80xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  // ALL: attn.linear %[[Q]],
  %1 = attn.linear %x, %v : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
  return %0, %1 : tensor<?x80xf32>, tensor<?x80xf32>
}

// ALL-LABEL: @tables
func.func @tables(%ids: tensor<?xi32>) -> tensor<?x99xf32> {
  %tied = attn.parameter_slice @tied : tensor<99x64xf32>
  %positions = attn.parameter_slice @positions : tensor<99x64xf32>
  %types = attn.parameter_slice @types : tensor<2x64xf32>
  %0 = attn.embedding %ids, %tied : tensor<?xi32>, tensor<99x64xf32> -> tensor<?x64xf32>
  // W4: attn.embedding %{{.*}} : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 64 axis 1>> -> tensor<?x64xf32>
  %1 = attn.embedding %ids, %positions : tensor<?xi32>, tensor<99x64xf32> -> tensor<?x64xf32>
  %2 = attn.embedding %ids, %types : tensor<?xi32>, tensor<2x64xf32> -> tensor<?x64xf32>
  %3 = arith.addf %0, %1 : tensor<?x64xf32>
  %4 = arith.addf %2, %3 : tensor<?x64xf32>
  %y = attn.linear %4, %tied transposed : tensor<?x64xf32>, tensor<99x64xf32> -> tensor<?x99xf32>
  return %y : tensor<?x99xf32>
}

func.func @recurrence(%x: tensor<?x80xf32>, %begin: tensor<?xi32>) -> tensor<?x20xf32> {
  %w = attn.parameter_slice @cell : tensor<20x80xf32>
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x80xf32>, tensor<20x80xf32>, tensor<?xi32>
  return %y : tensor<?x20xf32>
}

// ALL-LABEL: @mixture
func.func @mixture(%x: tensor<?x64xf32>, %groups: tensor<5x2xi32>) -> (tensor<?x2xf32>, tensor<?x80xf32>) {
  %router = attn.parameter_slice @router : tensor<64x40xf32>
  %experts = attn.parameter_slice @experts : tensor<64x320xf32>
  // ALL: attn.linear %arg0, %{{.*}} : tensor<?x64xf32>, tensor<64x40xf32>
  %logits = attn.linear %x, %router : tensor<?x64xf32>, tensor<64x40xf32> -> tensor<?x40xf32>
  %w, %e = attn.route softmax %logits of 40 : tensor<?x40xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // ALL: attn.linear %{{.*}}, %{{.*}} groups %arg1 : tensor<?x64x!attn.quantized<
  %y = attn.linear %x, %experts groups %groups : tensor<?x64xf32>, tensor<64x320xf32> groups tensor<5x2xi32> -> tensor<?x80xf32>
  return %w, %y : tensor<?x2xf32>, tensor<?x80xf32>
}
