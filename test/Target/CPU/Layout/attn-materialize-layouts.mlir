// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file | FileCheck %s

// Columns are padded to panels of 32; the entry's result keeps its exact width.
// CHECK: attn.parameter @w : tensor<3x50x32xf32> {{.*}} {layout = #attn_cpu.packed<shape = [50, 80], interleave = 1>, offset = 0 : i64, stride = 19200 : i64}
// CHECK: attn.parameter @g : tensor<64xf32> {{.*}}offset = 19200
attn.parameter @w : tensor<50x80xf32> from [#attn.source<"w">]
attn.parameter @g : tensor<50xf32> from [#attn.source<"g">]
// CHECK: attn.parameter @t : tensor<7x64xf32> {{.*}}#attn.rows<shape = [7, 50]>
attn.parameter @t : tensor<7x50xf32> from [#attn.source<"t">]
// CHECK-LABEL: @exact
func.func @exact(%ids: tensor<?xi32>) -> tensor<?x80xf32> {
  %w = attn.parameter_slice @w : tensor<50x80xf32>
  %g = attn.parameter_slice @g : tensor<50xf32>
  %t = attn.parameter_slice @t : tensor<7x50xf32>
  // CHECK: attn.embedding {{.*}} -> tensor<?x64xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<7x50xf32> -> tensor<?x50xf32>
  // CHECK: attn.rms_norm {{.*}} columns 50 : tensor<?x64xf32>, tensor<64xf32>
  %h = attn.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x50xf32>, tensor<50xf32>
  // CHECK: attn.linear {{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x50x32xf32> -> tensor<?x80xf32>
  %y = attn.linear %h, %w : tensor<?x50xf32>, tensor<50x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// Gains that are a constant are padded as a parameter is; those that fit stay.
module attributes {attn.stage = "canonical", attn.model = {family = "test"}} {
attn.dim @tokens min 1 max 8
attn.parameter @t : tensor<7x3xf32> from [#attn.source<"t">]
attn.parameter @u : tensor<7x32xf32> from [#attn.source<"u">]
// CHECK-LABEL: func.func @constant(
func.func @constant(%ids: tensor<?xi32>) -> (tensor<?x3xf32>, tensor<?x32xf32>) {
  %t = attn.parameter_slice @t : tensor<7x3xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<7x3xf32> -> tensor<?x3xf32>
  // CHECK: %[[GAINS:.*]] = arith.constant dense<[5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00,{{[ 0.e+,]+}}]> : tensor<32xf32>
  %g = arith.constant dense<0.5> : tensor<3xf32>
  // CHECK: attn.rms_norm %{{.*}}, %[[GAINS]] epsilon {{.*}} columns 3 : tensor<?x32xf32>, tensor<32xf32>
  %n = attn.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x3xf32>, tensor<3xf32>
  %u = attn.parameter_slice @u : tensor<7x32xf32>
  %y = attn.embedding %ids, %u : tensor<?xi32>, tensor<7x32xf32> -> tensor<?x32xf32>
  // CHECK: %[[FIT:.*]] = arith.constant dense<2.500000e-01> : tensor<32xf32>
  %f = arith.constant dense<0.25> : tensor<32xf32>
  // CHECK: attn.rms_norm %{{.*}}, %[[FIT]]
  %m = attn.rms_norm %y, %f epsilon 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  return %n, %m : tensor<?x3xf32>, tensor<?x32xf32>
}
}

// -----

// Heads of 16 channels are padded to 32 each: in the columns of the matmul that makes them, in its bias and in the
// rows of the matmul that reads them. Layers are stacked.
// CHECK: @qk layers 2 : tensor<2x4x32x32xf32> {{.*}}#attn_cpu.packed<shape = [32, 64] column_group = 16, interleave = 1>
// CHECK: @b layers 2 : tensor<2x128xf32> {{.*}}shape = [64], column_group = 16
// CHECK: @o layers 2 : tensor<2x1x64x32xf32> {{.*}}#attn_cpu.packed<shape = [32, 32] row_group = 16, interleave = 1>
attn.parameter @qk layers 2 : tensor<2x32x64xf32> from [#attn.source<"{layer}.qk">]
attn.parameter @b layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.b">]
attn.parameter @o layers 2 : tensor<2x32x32xf32> from [#attn.source<"{layer}.o">]
// CHECK-LABEL: @heads
func.func @heads(%ids: tensor<?xi32>, %t: tensor<7x32xf32>, %l: index) -> tensor<?x32xf32> {
  %qk = attn.parameter_slice @qk[%l] : tensor<32x64xf32>
  %b = attn.parameter_slice @b[%l] : tensor<64xf32>
  %o = attn.parameter_slice @o[%l] : tensor<32x32xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<7x32xf32> -> tensor<?x32xf32>
  %y = attn.linear %x, %qk, (%b) : tensor<?x32xf32>, tensor<32x64xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  // CHECK: attn.split_heads %{{.*}} : tensor<?x128xf32> -> tensor<?x2x32xf32>, tensor<?x2x32xf32>
  %q, %k = attn.split_heads %y : tensor<?x64xf32> -> tensor<?x2x16xf32>, tensor<?x2x16xf32>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %m = attn.merge_heads %q : tensor<?x2x16xf32> -> tensor<?x32xf32>
  %z = attn.linear %m, %o : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// A tied table serves the embedding from the panels of the matmul; the flip of the orientation moves into the source.
// CHECK: @wte : tensor<4x32x32xf32> from [#attn.source<"wte", transpose<1, 0>>]
attn.parameter @wte : tensor<97x32xf32> from [#attn.source<"wte">]
// CHECK-LABEL: @tied
func.func @tied(%ids: tensor<?xi32>) -> tensor<?x97xf32> {
  %t = attn.parameter_slice @wte : tensor<97x32xf32>
  // CHECK: attn.embedding {{.*}} tensor<4x32x32xf32> -> tensor<?x32xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<97x32xf32> -> tensor<?x32xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<4x32x32xf32> -> tensor<?x97xf32>
  %y = attn.linear %x, %t transposed : tensor<?x32xf32>, tensor<97x32xf32> -> tensor<?x97xf32>
  return %y : tensor<?x97xf32>
}

// -----

// A bidirectional layer: the parts of a recurrence are padded each, in all matmuls that feed it, their biases and its
// own weight and bias; its state is an argument given back under its name, padded in memory; both directions side by side
// lie without a gap, so what reads them is padded at the end alone.
// CHECK: @input : tensor<6x10x32xf32> {{.*}}#attn_cpu.packed<shape = [10, 99] column_group = 33, interleave = 1>
// CHECK: @context : tensor<6x10x32xf32> {{.*}}#attn_cpu.packed<shape = [10, 99] column_group = 33, interleave = 1>
// CHECK: @input_bias : tensor<192xf32> {{.*}}shape = [99], column_group = 33
// CHECK: @hidden : tensor<6x33x32xf32> {{.*}}#attn_cpu.packed<shape = [33, 99] column_group = 33, interleave = 1>
// CHECK: @hidden_bias : tensor<192xf32> {{.*}}#attn.rows<shape = [99], column_group = 33>
// CHECK: @out : tensor<1x66x32xf32> {{.*}}#attn_cpu.packed<shape = [66, {{[0-9]+}}], interleave = 1>
module attributes {attn.model = {}} {
attn.parameter @input : tensor<10x99xf32> from [#attn.source<"input">]
attn.parameter @context : tensor<10x99xf32> from [#attn.source<"context">]
attn.parameter @input_bias : tensor<99xf32> from [#attn.source<"input_bias">]
attn.parameter @hidden : tensor<33x99xf32> from [#attn.source<"hidden">]
attn.parameter @hidden_bias : tensor<99xf32> from [#attn.source<"hidden_bias">]
attn.parameter @out : tensor<66x20xf32> from [#attn.source<"out">]
// CHECK: @recurrent(%{{.*}}: tensor<?x10xf32> {{{.*}}}, %{{.*}}: tensor<?x2x64xf32>
func.func @recurrent(%x: tensor<?x10xf32> {attn.name = "x"}, %state: tensor<?x2x33xf32> {attn.name = "state"}, %slots: tensor<?xi32> {attn.name = "slots"}, %begin: tensor<?xi32> {attn.name = "begin"})
    -> (tensor<?x20xf32> {attn.name = "y"}, tensor<?x2x33xf32> {attn.name = "state"}) {
  %c0 = arith.constant 0 : index
  %input = attn.parameter_slice @input : tensor<10x99xf32>
  %context = attn.parameter_slice @context : tensor<10x99xf32>
  %input_bias = attn.parameter_slice @input_bias : tensor<99xf32>
  %hidden = attn.parameter_slice @hidden : tensor<33x99xf32>
  %hidden_bias = attn.parameter_slice @hidden_bias : tensor<99xf32>
  %out = attn.parameter_slice @out : tensor<66x20xf32>
  %part = attn.linear %x, %context : tensor<?x10xf32>, tensor<10x99xf32> -> tensor<?x99xf32>
  %gates = attn.linear %x, %input, (%input_bias, %part) : tensor<?x10xf32>, tensor<10x99xf32>, (tensor<99xf32>, tensor<?x99xf32>) -> tensor<?x99xf32> {
  ^bb0(%sum: f32, %bias: f32, %other: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = arith.addf %0, %other : f32
    attn.yield %1 : f32
  }
  // CHECK: attn.select_rows %{{.*}} : tensor<?x2x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %h = attn.select_rows %state[%c0], %slots : tensor<?x2x33xf32>, tensor<?xi32> -> tensor<?x33xf32>
  // CHECK: attn.recurrence gru %{{.*}} bias(%{{.*}} : tensor<192xf32>) rows(%{{.*}}) init(%{{.*}}) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x192xf32>, tensor<6x33x32xf32>, tensor<?xi32>, tensor<?x64xf32>
  %y, %last = attn.recurrence gru %gates, %hidden bias(%hidden_bias : tensor<99xf32>) rows(%begin) init(%h) : tensor<?x99xf32>, tensor<33x99xf32>, tensor<?xi32>, tensor<?x33xf32>
  %z, %first = attn.recurrence gru %gates, %hidden bias(%hidden_bias : tensor<99xf32>) rows(%begin) init(%h) reverse : tensor<?x99xf32>, tensor<33x99xf32>, tensor<?xi32>, tensor<?x33xf32>
  // CHECK: attn.update_rows %{{.*}} : tensor<?x2x64xf32>, tensor<?x64xf32>, tensor<?xi32>
  %new = attn.update_rows %state[%c0], %last, %slots : tensor<?x2x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  // CHECK: attn.concat %{{.*}}, %{{.*}} columns [33, 33] width 96 : tensor<?x64xf32>, tensor<?x64xf32>
  %both = attn.concat %y, %z : tensor<?x33xf32>, tensor<?x33xf32>
  // CHECK: attn.linear %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x96xf32>, tensor<1x66x32xf32> -> tensor<?x20xf32>
  %result = attn.linear %both, %out : tensor<?x66xf32>, tensor<66x20xf32> -> tensor<?x20xf32>
  // CHECK: return %{{.*}} : tensor<?x20xf32>, tensor<?x2x64xf32>
  return %result, %new : tensor<?x20xf32>, tensor<?x2x33xf32>
}
}

// -----

// Near miss: the argument has another name than the result, so it is an input, whose columns are the caller's.
module attributes {attn.model = {}} {
// CHECK-LABEL: @plain_input
// CHECK-SAME: tensor<?x33xf32>
func.func @plain_input(%x: tensor<?x33xf32> {attn.name = "x"}) -> (tensor<?x33xf32> {attn.name = "y"}) {
  return %x : tensor<?x33xf32>
}
}

// -----

// What rows with padding become has zeros there, too; rows of the caller's array have none.
attn.parameter @table : tensor<8x33xf32> from [#attn.source<"table">]
// CHECK-LABEL: @written
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>, %[[X:.*]]: tensor<?x33xf32>, %[[V:.*]]: tensor<?x2x33xf32>
func.func @written(%ids: tensor<?xi32>, %x: tensor<?x33xf32>, %v: tensor<?x2x33xf32>, %layer: index, %rows: tensor<?xi32>) -> (tensor<?x33xf32>, tensor<?x33xf32>) {
  %table = attn.parameter_slice @table : tensor<8x33xf32>
  %words = attn.embedding %ids, %table : tensor<?xi32>, tensor<8x33xf32> -> tensor<?x33xf32>
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[V]]
  // CHECK: attn.write_rows set %{{.*}}, %[[PADDED]][%{{.*}}], %{{.*}} : tensor<?x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>
  %0 = attn.write_rows set %words, %v[%layer], %rows : tensor<?x33xf32>, tensor<?x2x33xf32>, tensor<?xi32>
  // CHECK: attn.write_rows add %[[X]], %[[V]][%{{.*}}], %{{.*}} : tensor<?x33xf32>, tensor<?x2x33xf32>, tensor<?xi32>
  %1 = attn.write_rows add %x, %v[%layer], %rows : tensor<?x33xf32>, tensor<?x2x33xf32>, tensor<?xi32>
  return %0, %1 : tensor<?x33xf32>, tensor<?x33xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// A table of attention lies in rows; an index beyond its end stays there, though the row is longer now. Arguments keep
// their channels, and so does the result.
attn.parameter @table : tensor<4x20xf32> from [#attn.source<"table">]
// CHECK-LABEL: @lookup
func.func @lookup(%q: tensor<?x4x20xf32>, %s: f32) -> tensor<?x4x20xf32> {
  %t = attn.parameter_slice @table : tensor<4x20xf32>
  // CHECK: attn.attention {{.*}} extras(%{{.*}} : tensor<4x32xf32>) {{.*}} -> tensor<?x4x20xf32>
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x20xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %table: tensor<4x20xf32>):
      // CHECK: ^bb0({{.*}}, %[[J:[a-z0-9]+]]: index, %[[T:[a-z0-9]+]]: tensor<4x32xf32>)
      // CHECK: %[[END:.*]] = arith.constant 19 : index
      // CHECK: %[[AT:.*]] = arith.minsi %[[J]], %[[END]]
      // CHECK: attn.lookup %[[T]][%{{.*}}, %[[AT]]] : tensor<4x32xf32> -> f32
      %1 = attn.lookup %table[%h, %j] : tensor<4x20xf32> -> f32
      attn.yield %1 : f32
    }
  return %0 : tensor<?x4x20xf32>
}

// -----

// The vector of an additive similarity is padded as its channels are.
// CHECK: @vector : tensor<64xf32> {{.*}}#attn.rows<shape = [33]>
attn.parameter @vector : tensor<33xf32> from [#attn.source<"vector">]
attn.parameter @keys : tensor<32x33xf32> from [#attn.source<"keys">]
// CHECK-LABEL: @additive
func.func @additive(%x: tensor<?x32xf32>) -> tensor<?x1x33xf32> {
  %scale = arith.constant 1.0 : f32
  %vector = attn.parameter_slice @vector : tensor<33xf32>
  %keys = attn.parameter_slice @keys : tensor<32x33xf32>
  %k = attn.linear %x, %keys : tensor<?x32xf32>, tensor<32x33xf32> -> tensor<?x33xf32>
  %heads = attn.split_heads %k : tensor<?x33xf32> -> tensor<?x1x33xf32>
  // CHECK: attn.attention {{.*}} additive(%{{.*}} : tensor<64xf32>) {{.*}} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
  %o = attn.attention %heads, %heads, %heads, %scale additive(%vector : tensor<33xf32>) maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x1x33xf32>, tensor<?x1x33xf32>, tensor<?x1x33xf32> -> tensor<?x1x33xf32>
  return %o : tensor<?x1x33xf32>
}

// -----

// Near miss: a kernel's columns are not padded.
// CHECK-LABEL: @kernel
func.func @kernel(%x: tensor<?x33xf32>) -> tensor<?x66xf32> {
  // CHECK: attn.concat %{{.*}}, %{{.*}} : tensor<?x33xf32>, tensor<?x33xf32>
  %0 = attn.concat %x, %x : tensor<?x33xf32>, tensor<?x33xf32>
  return %0 : tensor<?x66xf32>
}

// -----

// An entry's output has the columns that its type says, whatever is padded inside; one that nothing else reads is cut by the matmul itself.
module attributes {attn.model = {family = "any"}} {
attn.dim @n min 0 max 64
// CHECK: @w
attn.parameter @w : tensor<33x33xf32> from [#attn.source<"w">]
attn.parameter @g : tensor<33xf32> from [#attn.source<"g">]
attn.parameter @table : tensor<5x33xf32> from [#attn.source<"table">]
// CHECK-LABEL: @outputs
// CHECK-SAME: -> (tensor<?x33xf32> {attn.dims = ["n"], attn.name = "hidden"}, tensor<?x33xf32> {attn.dims = ["n"], attn.name = "logits"})
func.func @outputs(%ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["n"]}) -> (tensor<?x33xf32> {attn.name = "hidden", attn.dims = ["n"]}, tensor<?x33xf32> {attn.name = "logits", attn.dims = ["n"]}) attributes {attn.entry} {
  %table = attn.parameter_slice @table : tensor<5x33xf32>
  %g = attn.parameter_slice @g : tensor<33xf32>
  %w = attn.parameter_slice @w : tensor<33x33xf32>
  %x = attn.embedding %ids, %table : tensor<?xi32>, tensor<5x33xf32> -> tensor<?x33xf32>
  // CHECK: %[[HIDDEN:.*]] = attn.rms_norm {{.*}} columns 33 : tensor<?x64xf32>
  %hidden = attn.rms_norm %x, %g epsilon 1.0e-5 : tensor<?x33xf32>, tensor<33xf32>
  // CHECK: %[[LOGITS:.*]] = attn.linear %[[HIDDEN]], {{.*}} -> tensor<?x33xf32>
  %logits = attn.linear %hidden, %w : tensor<?x33xf32>, tensor<33x33xf32> -> tensor<?x33xf32>
  // CHECK: %[[CUT:.*]] = tensor.extract_slice %[[HIDDEN]][0, 0] [%{{.*}}, 33] [1, 1] : tensor<?x64xf32> to tensor<?x33xf32>
  // CHECK: return %[[CUT]], %[[LOGITS]]
  return %hidden, %logits : tensor<?x33xf32>, tensor<?x33xf32>
}
}

// -----

// Matmuls read bf16 interleaved by 2 rows, the last filled with zeros; f16, and tables that no matmul reads, stay as they are.
// CHECK: attn.parameter @odd : tensor<3x18x64xbf16> from {{.*}} {layout = #attn_cpu.packed<shape = [35, 70], interleave = 2>, offset = 0 : i64, stride = 6912 : i64}
// CHECK: attn.parameter @half : tensor<3x35x32xf16> from {{.*}} interleave = 1>, offset = 6912 : i64
// CHECK: attn.parameter @tied : tensor<2x18x64xbf16> from {{.*}}shape = [35, 45], interleave = 2>
// CHECK: attn.parameter @table : tensor<45x64xbf16> from {{.*}} {layout = #attn.rows<shape = [45, 35]>
module attributes {attn.model = {family = "any"}} {
attn.parameter @odd : tensor<35x70xbf16> from [#attn.source<"odd">]
attn.parameter @half : tensor<35x70xf16> from [#attn.source<"half">]
attn.parameter @tied : tensor<45x35xbf16> from [#attn.source<"tied">]
attn.parameter @table : tensor<45x35xbf16> from [#attn.source<"table">]
// CHECK-LABEL: @pairs
func.func @pairs(%ids: tensor<?xi32>) -> (tensor<?x70xf32>, tensor<?x70xf32>, tensor<?x45xf32>) {
  %tied = attn.parameter_slice @tied : tensor<45x35xbf16>
  %table = attn.parameter_slice @table : tensor<45x35xbf16>
  %odd = attn.parameter_slice @odd : tensor<35x70xbf16>
  %half = attn.parameter_slice @half : tensor<35x70xf16>
  // CHECK: attn.embedding {{.*}} tensor<2x18x64xbf16> -> tensor<?x64xf32>
  %0 = attn.embedding %ids, %tied : tensor<?xi32>, tensor<45x35xbf16> -> tensor<?x35xf32>
  %1 = attn.embedding %ids, %table : tensor<?xi32>, tensor<45x35xbf16> -> tensor<?x35xf32>
  %2 = arith.addf %0, %1 : tensor<?x35xf32>
  // CHECK: attn.linear {{.*}} tensor<?x64xf32>, tensor<3x18x64xbf16> -> tensor<?x70xf32>
  %3 = attn.linear %2, %odd : tensor<?x35xf32>, tensor<35x70xbf16> -> tensor<?x70xf32>
  %4 = attn.linear %2, %half : tensor<?x35xf32>, tensor<35x70xf16> -> tensor<?x70xf32>
  %5 = attn.linear %2, %tied transposed : tensor<?x35xf32>, tensor<45x35xbf16> -> tensor<?x45xf32>
  return %3, %4, %5 : tensor<?x70xf32>, tensor<?x70xf32>, tensor<?x45xf32>
}
}
