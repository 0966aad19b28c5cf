// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{groups have 32, 64 or 128 elements, or 0 for all of them, found 48}}
func.func private @f(tensor<4x4x!attn.quantized<u8 group 48 axis 0>>)

// -----

// expected-error@+1 {{a matrix has the axes 0 and 1, found 2}}
func.func private @f(tensor<4x4x!attn.quantized<u8 group 0 axis 2>>)

// -----

// expected-error@+1 {{a period is not negative, found -3}}
func.func private @f(tensor<4x4x!attn.quantized<u8 group 0 axis 1 period -3>>)

// -----

// expected-error@+1 {{is quantized, but no matrix of u8, u4 or blocks}}
attn.parameter @b : tensor<64x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"b">]

// -----

// expected-error@+1 {{is quantized, but no matrix of u8, u4 or blocks}}
attn.parameter @b : tensor<64x64x!attn.quantized<s8 group 32 axis 0>> from [#attn.source<"b">]

// -----

func.func @f(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{gives s8 along axis 1, found '!attn.quantized<u8 group 32 axis 1>'}}
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<u8 group 32 axis 1>>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{needs an input [m, k] of static columns and a result of its shape}}
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x32x!attn.quantized<s8 group 32 axis 1>>
  return
}

// -----

// Only one operand is quantized.
func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x96x!attn.quantized<u4 group 32 axis 0>>) {
  // expected-error@+1 {{needs rows of s8 in the groups of a quantized weight}}
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return
}

// -----

// Groups of other sizes.
func.func @f(%x: tensor<?x64x!attn.quantized<s8 group 64 axis 1>>, %w: tensor<64x96x!attn.quantized<u4 group 32 axis 0>>) {
  // expected-error@+1 {{needs rows of s8 in the groups of a quantized weight}}
  %y = attn.linear %x, %w : tensor<?x64x!attn.quantized<s8 group 64 axis 1>>, tensor<64x96x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<96x64x!attn.quantized<u4 group 32 axis 0>>) {
  // expected-error@+1 {{sums over axis 1 of its weight, whose groups are along axis 0}}
  %y = attn.linear %x, %w transposed : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<96x64x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x96xf32>
  return
}

// -----

// expected-error@+2 {{there is no quantized code 'q9_k'}}
// expected-error@+1 {{failed to parse Attn_QuantizedType parameter 'code'}}
func.func private @f(tensor<4x4x!attn.quantized<q9_k group 32 axis 0>>)

// -----

// expected-error@+1 {{blocks of q6_k have groups of 16, no period and no zero points of their own}}
func.func private @f(tensor<4x4x!attn.quantized<q6_k group 32 axis 0>>)

// -----

// expected-error@+1 {{blocks of q4_0 have groups of 32, no period and no zero points of their own}}
func.func private @f(tensor<4x4x!attn.quantized<q4_0 group 32 axis 0 period 80>>)

// -----

// expected-error@+1 {{groups have 32, 64 or 128 elements, or 0 for all of them, found 16}}
func.func private @f(tensor<4x4x!attn.quantized<u4 group 16 axis 0>>)
