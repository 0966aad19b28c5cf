// RUN: rapt-opt %s --attn-vectorize --split-input-file --verify-diagnostics

func.func private @f(f32) -> f32
func.func @calls(%x: tensor<4x32xf32>, %t: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // expected-error@+1 {{'linalg.generic' op cannot be vectorized}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x32xf32>) outs(%t : tensor<4x32xf32>) {
  ^bb0(%u: f32, %w: f32):
    %v = func.call @f(%u) : (f32) -> f32
    linalg.yield %v : f32
  } -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
