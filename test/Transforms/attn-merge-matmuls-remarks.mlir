// RUN: rapt-opt %s --attn-merge-matmuls --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s
// RUN: rapt-opt %s --attn-merge-matmuls --split-input-file | FileCheck %s --check-prefix=IR

// A merged matmul has a remark; each near miss keeps its two and says why.
attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: [[#@LINE+4]]:8: remark: [Passed] merge-matmuls | Category:fusion | Fused="2 matmuls of one input, 64 columns"
func.func @merged(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @merged
// IR-COUNT-1: attn.linear
// IR-NOT: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its result has several users"
func.func @users(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3, %1 : tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?x32xf32>
}
// IR-LABEL: @users
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its result is not cut into heads of one kind"
func.func @columns(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %1 : tensor<?x1x32xf32>, tensor<?x32xf32>
}
// IR-LABEL: @columns
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its weight is no parameter that it alone reads"
func.func @argument(%x: tensor<?x64xf32>, %wb: tensor<64x32xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @argument
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<32x64xf32> from concat<dim = 1> [#attn.source<"b0" : 32x48>, #attn.source<"b1" : 32x16>]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its weight is joined from several tensors along its rows"
func.func @rows(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<32x64xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb transposed : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @rows
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
attn.parameter @bias : tensor<32xf32> from [#attn.source<"bias">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its epilogue does more than add a bias"
func.func @gelu(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %b = attn.parameter_slice @bias : tensor<32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb, (%b) : tensor<?x64xf32>, tensor<64x32xf32>, (tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.mulf %sum, %bias : f32
    attn.yield %s : f32
  }
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @gelu
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its bias is no parameter that it alone reads"
func.func @vector(%x: tensor<?x64xf32>, %b: tensor<32xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb, (%b) : tensor<?x64xf32>, tensor<64x32xf32>, (tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @vector
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
attn.parameter @bias : tensor<32xf32> from [#attn.source<"bias">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="one has a bias and the other has none"
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="one has a bias and the other has none"
func.func @biased(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %b = attn.parameter_slice @bias : tensor<32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb, (%b) : tensor<?x64xf32>, tensor<64x32xf32>, (tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @biased
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="their heads have different widths"
func.func @width(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x2x16xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x2x16xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x2x16xf32>
}
// IR-LABEL: @width
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xbf16> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="they are stored in different types"
func.func @storage(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xbf16>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xbf16> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @storage
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a layers 4 : tensor<4x64x32xf32> from [#attn.source<"{layer}.a">]
attn.parameter @b layers 4 : tensor<4x64x32xf32> from [#attn.source<"{layer}.b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="they are of different layers"
func.func @layers(%x: tensor<?x64xf32>, %i: index, %j: index) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a[%i] : tensor<64x32xf32>
  %wb = attn.parameter_slice @b[%j] : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @layers
// IR-COUNT-2: attn.linear

// -----

attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="their results are of different types"
func.func @types(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xbf16>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xbf16>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xbf16> -> tensor<?x1x32xbf16>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xbf16>
}
// IR-LABEL: @types
// IR-COUNT-2: attn.linear

// -----

// The function below reads one of the weights alone.
attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its weight is read elsewhere without those beside it"
func.func @elsewhere(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @elsewhere
// IR-COUNT-2: attn.linear
func.func @alone() -> tensor<64x32xf32> {
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  return %wa : tensor<64x32xf32>
}

// -----

attn.parameter @a : tensor<64x64xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x64xf32> from [#attn.source<"b">]
// CHECK: remark: [Missed] merge-matmuls | Category:fusion | Reason="its rows have a matrix of several each"
func.func @groups(%x: tensor<?x64xf32>, %groups: tensor<3x2xi32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wa = attn.parameter_slice @a : tensor<64x64xf32>
  %wb = attn.parameter_slice @b : tensor<64x64xf32>
  %0 = attn.linear %x, %wa groups %groups : tensor<?x64xf32>, tensor<64x64xf32> groups tensor<3x2xi32> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wb groups %groups : tensor<?x64xf32>, tensor<64x64xf32> groups tensor<3x2xi32> -> tensor<?x32xf32>
  %2 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %3 = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %2, %3 : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// IR-LABEL: @groups
// IR-COUNT-2: attn.linear
