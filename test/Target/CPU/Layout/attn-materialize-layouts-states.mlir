// RUN: rapt-opt %s --attn-materialize-layouts | FileCheck %s

// Channels of keys are rows of a state, and columns of a decay are heads: linear attention and short convolutions read and keep what counts,
// and the next matmul reads their outputs padded.
module attributes {attn.stage = "canonical", attn.model = {family = "test"}} {
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
attn.dim @slots min 1 max 64
attn.parameter @q : tensor<20x32xf32> from [#attn.source<"q">]
attn.parameter @d : tensor<20x2xf32> from [#attn.source<"d">]
attn.parameter @i : tensor<20x36xf32> from [#attn.source<"i">]
attn.parameter @taps : tensor<4x36xf32> from [#attn.source<"taps">]
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{.*}}: tensor<?x1x2x16x16xf32> {{.*}}, %{{.*}}: tensor<?x1x3x36xf32>
func.func @step(%state: tensor<?x1x2x16x16xf32> {attn.name = "state", attn.dims = ["slots"]}, %last: tensor<?x1x3x36xf32> {attn.name = "conv_state", attn.dims = ["slots"]},
    %x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]},
    %from: tensor<?xi32> {attn.name = "state_slot", attn.dims = ["rows"]}, %to: tensor<?xi32> {attn.name = "state_target", attn.dims = ["rows"]})
    -> (tensor<?x1x2x16x16xf32> {attn.name = "state", attn.dims = ["slots"]}, tensor<?x1x3x36xf32> {attn.name = "conv_state", attn.dims = ["slots"]},
        tensor<?x32xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x36xf32> {attn.name = "z", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %qw = attn.parameter_slice @q : tensor<20x32xf32>
  %dw = attn.parameter_slice @d : tensor<20x2xf32>
  %iw = attn.parameter_slice @i : tensor<20x36xf32>
  %taps = attn.parameter_slice @taps : tensor<4x36xf32>
  %q = attn.linear %x, %qw : tensor<?x20xf32>, tensor<20x32xf32> -> tensor<?x32xf32>
  %d = attn.linear %x, %dw : tensor<?x20xf32>, tensor<20x2xf32> -> tensor<?x2xf32>
  %i = attn.linear %x, %iw : tensor<?x20xf32>, tensor<20x36xf32> -> tensor<?x36xf32>
  %heads = attn.split_heads %q : tensor<?x32xf32> -> tensor<?x2x16xf32>
  // CHECK: attn.linear_attention gated {{.*}} decay(%{{.*}} : tensor<?x2xf32>) {{.*}} state(%{{.*}} : tensor<?x1x2x16x16xf32>) {{.*}} : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %y, %new = attn.linear_attention gated %heads, %heads, %heads decay(%d : tensor<?x2xf32>) rows(%begin) state(%state : tensor<?x1x2x16x16xf32>) layer(%c0)
    slots(%from : tensor<?xi32>, %to : tensor<?xi32>) : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  // CHECK: attn.short_conv {{.*}} state(%{{.*}} : tensor<?x1x3x36xf32>) {{.*}} : tensor<?x36xf32>, tensor<4x36xf32>
  %z, %inputs = attn.short_conv %i, %taps rows(%begin) state(%last : tensor<?x1x3x36xf32>) layer(%c0)
    slots(%from : tensor<?xi32>, %to : tensor<?xi32>) : tensor<?x36xf32>, tensor<4x36xf32>, tensor<?xi32>
  %merged = attn.merge_heads %y : tensor<?x2x16xf32> -> tensor<?x32xf32>
  // CHECK: return %{{.*}} : tensor<?x1x2x16x16xf32>, tensor<?x1x3x36xf32>, tensor<?x32xf32>, tensor<?x36xf32>
  return %new, %inputs, %merged, %z : tensor<?x1x2x16x16xf32>, tensor<?x1x3x36xf32>, tensor<?x32xf32>, tensor<?x36xf32>
}
}
