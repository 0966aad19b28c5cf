// RUN: rapt-opt %s --attn-materialize-layouts | FileCheck %s

// Rows that are selected keep the padding behind each head, which the rows of the weight have as well. The results of matmuls by groups of rows have no padding
// within a matrix: a matmul whose result is cut into heads gets it with the padding of heads.
// CHECK: @out.narrow : {{.*}}layout = #attn_cpu.packed<shape = [64, 9] column_group = 3 row_group = 16,
attn.parameter @query : tensor<64x96xf32> from [#attn.source<"query">]
attn.parameter @query.narrow : tensor<15x96xf32> from [#attn.source<"query.narrow">]
attn.parameter @query.wide : tensor<192x5xf32> from [#attn.source<"query.wide">]
attn.parameter @gain : tensor<16xf32> from [#attn.source<"gain">]
attn.parameter @out.narrow : tensor<9x64xf32> from [#attn.source<"out.narrow">]
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<?x96xf32>, %rows: tensor<?xi32>, %groups: tensor<4x2xi32>, %order: tensor<?xi32>) -> tensor<?x3xf32> {
  %w = attn.parameter_slice @query : tensor<64x96xf32>
  %a = attn.parameter_slice @query.narrow : tensor<15x96xf32>
  %b = attn.parameter_slice @query.wide : tensor<192x5xf32>
  %c = attn.parameter_slice @out.narrow : tensor<9x64xf32>
  %selected = attn.select_rows %x, %rows : tensor<?x96xf32>, tensor<?xi32> -> tensor<?x96xf32>
  %narrow = attn.linear %selected, %a groups %groups transposed : tensor<?x96xf32>, tensor<15x96xf32> groups tensor<4x2xi32> -> tensor<?x5xf32>
  %wide = attn.linear %narrow, %b groups %groups transposed : tensor<?x5xf32>, tensor<192x5xf32> groups tensor<4x2xi32> -> tensor<?x64xf32>
  // CHECK: %[[CHANGE:.*]] = attn.select_rows %{{.*}}, %{{.*}} : tensor<?x64xf32>
  // CHECK: %[[PADDED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x128xf32>)
  // CHECK: tensor.extract %[[CHANGE]]
  // CHECK: attn.linear %{{.*}}, %{{.*}}, (%[[PADDED]]) {{.*}} -> tensor<?x128xf32>
  %change = attn.select_rows %wide, %order : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %0 = attn.linear %x, %w, (%change) transposed : tensor<?x96xf32>, tensor<64x96xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %more: f32):
    %s = arith.addf %sum, %more : f32
    attn.yield %s : f32
  }
  %1 = attn.split_heads %0 : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %gain = attn.parameter_slice @gain : tensor<16xf32>
  %2 = attn.rms_norm %1, %gain epsilon 1.0e-5 : tensor<?x4x16xf32>, tensor<16xf32>
  %3 = attn.merge_heads %2 : tensor<?x4x16xf32> -> tensor<?x64xf32>
  // CHECK: attn.select_rows %{{.*}}, %{{.*}} : tensor<?x128xf32>, tensor<?xi32> -> tensor<?x128xf32>
  %4 = attn.select_rows %3, %rows : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %5 = attn.linear %4, %c groups %groups transposed : tensor<?x64xf32>, tensor<9x64xf32> groups tensor<4x2xi32> -> tensor<?x3xf32>
  return %5 : tensor<?x3xf32>
}

// Blocks of a file go on across heads: rows are quantized without the padding behind each head, and the weight has none. A near miss: with a period the groups
// begin anew with each head, and both have padding.
// CHECK: @out.blocks : {{.*}}layout = #attn_cpu.packed<shape = [160, 64], interleave = 4>
// CHECK: @out.heads : {{.*}}layout = #attn_cpu.packed<shape = [160, 64] row_group = 80, interleave = 4>
attn.parameter @out.blocks : tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>> from [#attn.source<"out.blocks" : q4_0, transpose<1, 0>>]
attn.parameter @out.heads : tensor<160x64x!attn.quantized<u8 group 32 axis 0 period 80>> from [#attn.source<"out.heads", transpose<1, 0>>]
attn.parameter @query.eighty : tensor<160x96xf32> from [#attn.source<"query.eighty">]
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<?x96xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %q = attn.parameter_slice @query.eighty : tensor<160x96xf32>
  %columns = attn.linear %x, %q transposed : tensor<?x96xf32>, tensor<160x96xf32> -> tensor<?x160xf32>
  %heads = attn.split_heads %columns : tensor<?x160xf32> -> tensor<?x2x80xf32>
  // CHECK: %[[HEADS:.*]] = attn.merge_heads {{.*}} -> tensor<?x192xf32>
  %0 = attn.merge_heads %heads : tensor<?x2x80xf32> -> tensor<?x160xf32>
  // CHECK: %[[CUT:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x160xf32>)
  // CHECK: tensor.extract %[[HEADS]]
  // CHECK: attn.quantize_rows %[[CUT]] : tensor<?x160xf32> -> tensor<?x160x!attn.quantized<s8 group 32 axis 1>>
  %1 = attn.quantize_rows %0 : tensor<?x160xf32> -> tensor<?x160x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @out.blocks : tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>>
  %2 = attn.linear %1, %w : tensor<?x160x!attn.quantized<s8 group 32 axis 1>>, tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>> -> tensor<?x64xf32>
  // CHECK: attn.quantize_rows %[[HEADS]] : tensor<?x192xf32>
  %3 = attn.quantize_rows %0 : tensor<?x160xf32> -> tensor<?x160x!attn.quantized<s8 group 32 axis 1 period 80>>
  %v = attn.parameter_slice @out.heads : tensor<160x64x!attn.quantized<u8 group 32 axis 0 period 80>>
  %4 = attn.linear %3, %v : tensor<?x160x!attn.quantized<s8 group 32 axis 1 period 80>>, tensor<160x64x!attn.quantized<u8 group 32 axis 0 period 80>> -> tensor<?x64xf32>
  return %2, %4 : tensor<?x64xf32>, tensor<?x64xf32>
}

// Heads of the caller have no padding that could be left out.
// CHECK-LABEL: func.func @unpadded
func.func @unpadded(%heads: tensor<?x2x80xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: attn.quantize_rows {{.*}} : tensor<?x160xf32>
  %0 = attn.merge_heads %heads : tensor<?x2x80xf32> -> tensor<?x160xf32>
  %1 = attn.quantize_rows %0 : tensor<?x160xf32> -> tensor<?x160x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @out.blocks : tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>>
  %2 = attn.linear %1, %w : tensor<?x160x!attn.quantized<s8 group 32 axis 1>>, tensor<160x64x!attn.quantized<q4_0 group 32 axis 0>> -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}
