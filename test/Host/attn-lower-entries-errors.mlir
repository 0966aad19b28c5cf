// RUN: rapt-opt %s --attn-lower-entries --split-input-file --verify-diagnostics

attn.parameter @w : tensor<64xf32> from [#attn.source<"w">]
func.func @step() -> (tensor<64xf32> {attn.name = "y"}) attributes {attn.entry} {
  // expected-error@+1 {{reads 'w', which has no place in the weight file}}
  %w = attn.parameter_slice @w : tensor<64xf32>
  return %w : tensor<64xf32>
}

// -----

// expected-error@+1 {{is an entry, which needs a body of one block}}
func.func private @external(tensor<4xf32> {attn.name = "x"}) attributes {attn.entry}

// -----

// expected-error@+1 {{is an entry of tensors, but has an argument or result of type 'memref<4xf32>'}}
func.func @memory(%x: memref<4xf32> {attn.name = "x"}) attributes {attn.entry} {
  return
}

// -----

// expected-error@+1 {{has no name for argument 0 (attn.name)}}
func.func @argument(%x: tensor<4xf32>) attributes {attn.entry} {
  return
}

// -----

// expected-error@+1 {{has no name for result 0 (attn.name)}}
func.func @result(%x: tensor<4xf32> {attn.name = "x"}) -> tensor<4xf32> attributes {attn.entry} {
  return %x : tensor<4xf32>
}
