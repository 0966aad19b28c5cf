// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file | FileCheck %s

// A parameter of any rank lies by rows of its last dim, which are padded; ops of linalg read the logical shape. One element is not padded.
module attributes {attn.model = {family = "any"}} {
// CHECK: attn.parameter @experts layers 2 : tensor<2x3x20x64xf32> from stack<dim = 0> [{{.*}}] {layout = #attn.rows<shape = [3, 20, 37]>, offset = 0 : i64, stride = 15360 : i64}
attn.parameter @experts layers 2 : tensor<2x3x20x37xf32> from stack<dim = 0> [#attn.source<"{layer}.0">, #attn.source<"{layer}.1">, #attn.source<"{layer}.2">]
// CHECK: attn.parameter @one : tensor<f32> from [{{.*}}] {layout = #attn.rows<shape = []>, offset = 30720 : i64, stride = 64 : i64}
attn.parameter @one : tensor<f32> from [#attn.source<"one">]
// CHECK-LABEL: @upstream
func.func @upstream(%layer: index) -> (tensor<3x20x37xf32> {attn.name = "y"}) attributes {attn.entry} {
  // CHECK: %[[W:.*]] = attn.parameter_slice @experts[%arg0] : tensor<3x20x64xf32>
  // CHECK: tensor.extract %{{.*}}[] : tensor<f32>
  // CHECK: %[[CUT:.*]] = tensor.extract_slice %[[W]][0, 0, 0] [3, 20, 37] [1, 1, 1] : tensor<3x20x64xf32> to tensor<3x20x37xf32>
  // CHECK: math.absf %[[CUT]] : tensor<3x20x37xf32>
  %w = attn.parameter_slice @experts[%layer] : tensor<3x20x37xf32>
  %one = attn.parameter_slice @one : tensor<f32>
  %f = tensor.extract %one[] : tensor<f32>
  %y = math.absf %w : tensor<3x20x37xf32>
  return %y : tensor<3x20x37xf32>
}
}

// -----

// An op of attn reads a parameter that is no weight of its own as it would read another tensor.
module attributes {attn.model = {family = "any"}} {
attn.parameter @keys : tensor<33x4x5xf32> from [#attn.source<"keys">]
attn.parameter @query : tensor<20x20xf32> from [#attn.source<"query">]
attn.parameter @bias : tensor<4x33xf32> from [#attn.source<"bias">]
// CHECK-LABEL: @learned
// CHECK-DAG: %[[K:.*]] = attn.parameter_slice @keys : tensor<33x4x32xf32>
// CHECK-DAG: %[[B:.*]] = attn.parameter_slice @bias : tensor<4x64xf32>
// CHECK-DAG: tensor.extract_slice %[[K]][0, 0, 0] [33, 4, 5] [1, 1, 1] : tensor<33x4x32xf32> to tensor<33x4x5xf32>
// CHECK-DAG: tensor.extract_slice %[[B]][0, 0] [4, 33] [1, 1] : tensor<4x64xf32> to tensor<4x33xf32>
// CHECK: attn.attention {{.*}} : tensor<?x4x32xf32>, tensor<33x4x32xf32>, tensor<33x4x32xf32> -> tensor<?x4x32xf32>
func.func @learned(%x: tensor<?x20xf32>) -> (tensor<?x4x5xf32> {attn.name = "y"}) attributes {attn.entry} {
  %k = attn.parameter_slice @keys : tensor<33x4x5xf32>
  %bias = attn.parameter_slice @bias : tensor<4x33xf32>
  %w = attn.parameter_slice @query : tensor<20x20xf32>
  %rows = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32>
  %q = attn.split_heads %rows : tensor<?x20xf32> -> tensor<?x4x5xf32>
  %scale = arith.constant 0.5 : f32
  %y = attn.attention %q, %k, %k, %scale extras(%bias : tensor<4x33xf32>)
    maps [affine_map<(b, h, g, m, n, k, v) -> (m, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, v)>,
          affine_map<(b, h, g, m, n, k, v) -> (m, h, v)>, affine_map<(b, h, g, m, n, k, v) -> (h, n)>]
    : tensor<?x4x5xf32>, tensor<33x4x5xf32>, tensor<33x4x5xf32> -> tensor<?x4x5xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32):
      %biased = arith.addf %s, %t : f32
      attn.yield %biased : f32
    }
  return %y : tensor<?x4x5xf32>
}
}

// -----

// Sinks are read by the number of a head: rows of parameters are padded, and the op gets as many elements as it has heads.
module attributes {attn.model = {family = "any"}} {
attn.parameter @query : tensor<20x20xf32> from [#attn.source<"query">]
attn.parameter @sinks : tensor<4xbf16> from [#attn.source<"sinks">]
// CHECK-LABEL: @sinks_of_heads
// CHECK: %[[S:.*]] = attn.parameter_slice @sinks : tensor<32xbf16>
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[S]][0] [4] [1] : tensor<32xbf16> to tensor<4xbf16>
// CHECK: attn.attention {{.*}} sink(%[[OWN]] : tensor<4xbf16>)
func.func @sinks_of_heads(%x: tensor<?x20xf32>) -> (tensor<?x4x5xf32> {attn.name = "y"}) attributes {attn.entry} {
  %s = attn.parameter_slice @sinks : tensor<4xbf16>
  %w = attn.parameter_slice @query : tensor<20x20xf32>
  %rows = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32>
  %q = attn.split_heads %rows : tensor<?x20xf32> -> tensor<?x4x5xf32>
  %scale = arith.constant 0.5 : f32
  %y = attn.attention %q, %q, %q, %scale sink(%s : tensor<4xbf16>)
    maps [affine_map<(b, h, g, m, n, k, v) -> (m, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, v)>,
          affine_map<(b, h, g, m, n, k, v) -> (m, h, v)>]
    : tensor<?x4x5xf32>, tensor<?x4x5xf32>, tensor<?x4x5xf32> -> tensor<?x4x5xf32>
  return %y : tensor<?x4x5xf32>
}
}
