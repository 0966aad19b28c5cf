// RUN: rapt-opt %s --attn-lower-entries --verify-diagnostics

attn.parameter @w : tensor<64xf32> from [#attn.source<"w">]
func.func @step() -> (tensor<64xf32> {attn.name = "y"}) attributes {attn.entry} {
  // expected-error@+1 {{reads 'w', which has no place in the weight file}}
  %w = attn.parameter_slice @w : tensor<64xf32>
  return %w : tensor<64xf32>
}
