// RUN: rapt-opt %s --attn-merge-matmuls --split-input-file | FileCheck %s

// Query, key and value of grouped heads, with their biases; the weights are [out, in] in the checkpoint.
// CHECK: attn.parameter @"q+k+v" layers 3 : tensor<3x64x160xf32> from concat<dim = 1> [#attn.source<"{layer}.q" : 96x64, transpose<1, 0>>, #attn.source<"{layer}.k" : 32x64, transpose<1, 0>>, #attn.source<"{layer}.v" : 32x64, transpose<1, 0>>]
// CHECK: attn.parameter @"q.bias+k.bias+v.bias" layers 3 : tensor<3x160xf32> from concat<dim = 0> [#attn.source<"{layer}.bq" : 96>, #attn.source<"{layer}.bk" : 32>, #attn.source<"{layer}.bv" : 32>]
// CHECK-NOT: attn.parameter
// CHECK-LABEL: @grouped
attn.parameter @q layers 3 : tensor<3x96x64xf32> from [#attn.source<"{layer}.q">]
attn.parameter @q.bias layers 3 : tensor<3x96xf32> from [#attn.source<"{layer}.bq">]
attn.parameter @k layers 3 : tensor<3x32x64xf32> from [#attn.source<"{layer}.k">]
attn.parameter @k.bias layers 3 : tensor<3x32xf32> from [#attn.source<"{layer}.bk">]
attn.parameter @v layers 3 : tensor<3x32x64xf32> from [#attn.source<"{layer}.v">]
attn.parameter @v.bias layers 3 : tensor<3x32xf32> from [#attn.source<"{layer}.bv">]
func.func @grouped(%x: tensor<?x64xf32>, %layer: index) -> (tensor<?x6x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  // CHECK: %[[W:.*]] = attn.parameter_slice @"q+k+v"[%arg1] : tensor<64x160xf32>
  // CHECK: %[[B:.*]] = attn.parameter_slice @"q.bias+k.bias+v.bias"[%arg1] : tensor<160xf32>
  // CHECK: %[[Y:.*]] = attn.linear %arg0, %[[W]], (%[[B]]) : {{.*}} -> tensor<?x160xf32>
  // CHECK: arith.addf
  // CHECK: %[[H:.*]]:3 = attn.split_heads %[[Y]] : tensor<?x160xf32> -> tensor<?x6x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  // CHECK: return %[[H]]#0, %[[H]]#1, %[[H]]#2
  %wq = attn.parameter_slice @q[%layer] : tensor<96x64xf32>
  %bq = attn.parameter_slice @q.bias[%layer] : tensor<96xf32>
  %0 = attn.linear %x, %wq, (%bq) transposed : tensor<?x64xf32>, tensor<96x64xf32>, (tensor<96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %query = attn.split_heads %0 : tensor<?x96xf32> -> tensor<?x6x16xf32>
  %wk = attn.parameter_slice @k[%layer] : tensor<32x64xf32>
  %bk = attn.parameter_slice @k.bias[%layer] : tensor<32xf32>
  %1 = attn.linear %x, %wk, (%bk) transposed : tensor<?x64xf32>, tensor<32x64xf32>, (tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %key = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %wv = attn.parameter_slice @v[%layer] : tensor<32x64xf32>
  %bv = attn.parameter_slice @v.bias[%layer] : tensor<32xf32>
  %2 = attn.linear %x, %wv, (%bv) transposed : tensor<?x64xf32>, tensor<32x64xf32>, (tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %bias, %sum : f32
    attn.yield %s : f32
  }
  %value = attn.split_heads %2 : tensor<?x32xf32> -> tensor<?x2x16xf32>
  return %query, %key, %value : tensor<?x6x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}

// -----

// Weights that two functions read are joined once. Where two matmuls' weights are stored in two ways, [in, out] stays as it is.
// CHECK: attn.parameter @"k+v" : tensor<64x64xbf16> from concat<dim = 1> [#attn.source<"k" : 64x32>, #attn.source<"v" : 32x64, transpose<1, 0>>]
// CHECK-NOT: attn.parameter
attn.parameter @k : tensor<64x32xbf16> from [#attn.source<"k">]
attn.parameter @v : tensor<32x64xbf16> from [#attn.source<"v">]
// CHECK-LABEL: @first
// CHECK: attn.parameter_slice @"k+v" : tensor<64x64xbf16>
// CHECK: attn.linear
// CHECK-NOT: attn.linear
func.func @first(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wk = attn.parameter_slice @k : tensor<64x32xbf16>
  %wv = attn.parameter_slice @v : tensor<32x64xbf16>
  %0 = attn.linear %x, %wk : tensor<?x64xf32>, tensor<64x32xbf16> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wv transposed : tensor<?x64xf32>, tensor<32x64xbf16> -> tensor<?x32xf32>
  %key = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %value = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %key, %value : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}
// CHECK-LABEL: @second
// CHECK: attn.parameter_slice @"k+v" : tensor<64x64xbf16>
// CHECK: attn.linear
// CHECK-NOT: attn.linear
func.func @second(%x: tensor<?x64xf32>) -> (tensor<?x1x32xf32>, tensor<?x1x32xf32>) {
  %wk = attn.parameter_slice @k : tensor<64x32xbf16>
  %wv = attn.parameter_slice @v : tensor<32x64xbf16>
  %0 = attn.linear %x, %wk : tensor<?x64xf32>, tensor<64x32xbf16> -> tensor<?x32xf32>
  %1 = attn.linear %x, %wv transposed : tensor<?x64xf32>, tensor<32x64xbf16> -> tensor<?x32xf32>
  %key = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %value = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  return %key, %value : tensor<?x1x32xf32>, tensor<?x1x32xf32>
}

// -----

// The merged matmul is rounded as its parts were.
attn.parameter @a : tensor<64x32xf32> from [#attn.source<"a">]
attn.parameter @b : tensor<64x32xf32> from [#attn.source<"b">]
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<?x64xbf16>) -> (tensor<?x1x32xbf16>, tensor<?x1x32xbf16>) {
  // CHECK: attn.linear {{.*}} : tensor<?x64xbf16>, tensor<64x64xf32> -> tensor<?x64xbf16>
  %wa = attn.parameter_slice @a : tensor<64x32xf32>
  %wb = attn.parameter_slice @b : tensor<64x32xf32>
  %0 = attn.linear %x, %wa : tensor<?x64xbf16>, tensor<64x32xf32> -> tensor<?x32xbf16>
  %1 = attn.linear %x, %wb : tensor<?x64xbf16>, tensor<64x32xf32> -> tensor<?x32xbf16>
  %2 = attn.split_heads %0 : tensor<?x32xbf16> -> tensor<?x1x32xbf16>
  %3 = attn.split_heads %1 : tensor<?x32xbf16> -> tensor<?x1x32xbf16>
  return %2, %3 : tensor<?x1x32xbf16>, tensor<?x1x32xbf16>
}
