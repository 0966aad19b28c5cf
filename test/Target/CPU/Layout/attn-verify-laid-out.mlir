// RUN: rapt-opt %s --attn-verify-laid-out --verify-diagnostics --split-input-file

// A module that keeps the contract.
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn.layout<panels, shape = [64, 64], column_group = 0, row_group = 0, k = 1>, offset = 0 : i64, stride = 16384 : i64}

// -----

// expected-error@+1 {{has no layout, offset and stride, which the laid-out stage promises}}
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]

// -----

func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{gives a cache without a layout, which the laid-out stage promises}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
