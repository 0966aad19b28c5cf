// RUN: rapt-opt %s --attn-annotate-costs --attn-cpu-fuse --split-input-file | FileCheck %s

// A fused dual matmul is one dispatch: one element of the costs, whose input is moved once, and what lies between the two
// matmuls never. Both have its number, and the op behind them the next one.
attn.dim @tokens min 1 max 64
attn.parameter @u : tensor<2x64x32xf32> from [#attn.source<"h.up.weight">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}
attn.parameter @g : tensor<2x64x32xf32> from [#attn.source<"h.gate.weight">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 1>, offset = 16384 : i64, stride = 16384 : i64}
// CHECK-LABEL: func.func @gated
// CHECK-SAME: ops = [{activations = {{\[\[}}512, "tokens"]], dtype = "f32", flops = {{\[\[}}16384, "tokens"]], name = "h.gate+up", op = "linear", weights = {{\[\[}}32768]]},
// CHECK-SAME: {activations = {{\[\[}}768, "tokens"]], op = "addf"}]}
func.func @gated(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %u = attn.parameter_slice @u : tensor<2x64x32xf32>
  %g = attn.parameter_slice @g : tensor<2x64x32xf32>
  // CHECK-NOT: attn.moves
  // CHECK: attn.linear {{.*}} {attn.op = 0 : i64, attn_cpu.fused_into = #attn_cpu.root<consumer>
  %up = attn.linear %x, %u {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear {{.*}} {attn.op = 0 : i64, layout
  %y = attn.linear %x, %g, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  // CHECK: arith.addf {{.*}} {attn.op = 1 : i64}
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// A rotation that its matmul computes reads angles, and no heads: they are in tiles.
attn.dim @tokens min 1 max 64
// CHECK-LABEL: func.func @rotated
// CHECK-SAME: ops = [{activations = {{\[\[}}16384], [768, "tokens"]], dtype = "f32", flops = {{\[\[}}8192, "tokens"]], op = "linear"}]}
func.func @rotated(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]}, %w: tensor<64x64xf32> {attn.name = "w"},
                   %c: tensor<?x32xf32> {attn.name = "c", attn.dims = ["tokens"]}, %s: tensor<?x32xf32> {attn.name = "s", attn.dims = ["tokens"]})
    -> (tensor<?x1x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  // CHECK: attn.linear {{.*}} {attn.op = 0 : i64}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %1 = attn.split_heads %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
  // CHECK: attn.rope {{.*}} {attn.op = 0 : i64, attn_cpu.fused_into = #attn_cpu.root<producer>}
  %2 = attn.rope %1, %c, %s : tensor<?x1x64xf32>, tensor<?x32xf32>
  return %2 : tensor<?x1x64xf32>
}

// -----

// Near miss: matmuls of different activations stay two elements.
attn.dim @tokens min 1 max 64
// CHECK-LABEL: func.func @apart
// CHECK-SAME: op = "linear"}, {
// CHECK-SAME: op = "linear"}]}
func.func @apart(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]}, %z: tensor<?x64xf32> {attn.name = "z", attn.dims = ["tokens"]},
                 %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  // CHECK: attn.linear {{.*}} {attn.op = 0 : i64}
  %up = attn.linear %z, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear {{.*}} {attn.op = 1 : i64}
  %y = attn.linear %x, %w, (%up) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}
