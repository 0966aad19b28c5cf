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

// -----

func.func @of_no_argument(%c: tensor<?x256xi8> {attn.name = "cache"}) -> (tensor<?x256xi8> {attn.name = "cache"}) attributes {attn.entry} {
  %k = attn.cache_parts %c at [0] : tensor<?x256xi8> -> tensor<?x16xbf16>
  %j = attn.cache_join %k into %c at [0] : tensor<?x16xbf16> into tensor<?x256xi8>
  // expected-error@+1 {{'attn.cache_parts' op takes the parts of what is no argument of its entry}}
  %again = attn.cache_parts %j at [0] : tensor<?x256xi8> -> tensor<?x16xbf16>
  return %j : tensor<?x256xi8>
}

// -----

func.func @other_parts(%c: tensor<?x256xi8> {attn.name = "cache"}) -> (tensor<?x256xi8> {attn.name = "cache"}) attributes {attn.entry} {
  %k = attn.cache_parts %c at [0] : tensor<?x256xi8> -> tensor<?x16xbf16>
  // expected-error@+1 {{'attn.cache_join' op joins other parts than those that its entry begins with}}
  %j = attn.cache_join %k into %c at [64] : tensor<?x16xbf16> into tensor<?x256xi8>
  return %j : tensor<?x256xi8>
}
