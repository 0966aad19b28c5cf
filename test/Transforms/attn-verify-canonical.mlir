// RUN: rapt-opt %s --attn-verify-canonical --verify-diagnostics --split-input-file

// A module that keeps the contract.
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn.layout<panels, shape = [64, 64], column_group = 0, row_group = 0, k = 1>, offset = 0 : i64, stride = 16384 : i64}

// -----

// expected-error@+1 {{has no layout, offset and stride, which the canonical stage promises}}
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]

// -----

func.func private @block()
func.func @step() {
  // expected-error@+1 {{is left: the canonical stage promises that blocks are inlined into the layer loop}}
  func.call @block() : () -> ()
  return
}

// -----

func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{gives a cache without a layout, which the canonical stage promises}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

attn.parameter @w : tensor<8xf32> from [#attn.source<"w">] {layout = #attn.layout<row_major, shape = [8], column_group = 0, row_group = 0, k = 1>, offset = 0 : i64, stride = 64 : i64}
func.func @kernel() -> tensor<8xf32> {
  // expected-error@+1 {{'attn.parameter_slice' op is in 'kernel', which is no entry: weights belong to functions with attn.entry}}
  %w = attn.parameter_slice @w : tensor<8xf32>
  return %w : tensor<8xf32>
}

// -----

func.func @beyond(%x: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim 2 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  return %d : index
}
