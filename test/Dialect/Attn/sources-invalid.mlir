// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// Sources say nothing that cannot be, and the parts of a parameter fit.

// expected-error@+1 {{a slice's dim is from 0 on, found -1}}
attn.parameter @w : tensor<64xf32> from [#attn.source<"w" : 64, slice<dim = -1, 0 to 4>>]

// -----

// expected-error@+1 {{a slice needs 0 <= begin < end, found 64 to 64}}
attn.parameter @w : tensor<64xf32> from [#attn.source<"w" : 128, slice<dim = 0, 64 to 64>>]

// -----

// expected-error@+1 {{a slice needs 0 <= begin < end, found -1 to 63}}
attn.parameter @w : tensor<64xf32> from [#attn.source<"w" : 128, slice<dim = 0, -1 to 63>>]

// -----

// expected-error@+1 {{source 'w': #attn.slice<dim = 1, 0 to 4> takes a part of dim 1, which [64] does not have}}
attn.parameter @w : tensor<64xf32> from [#attn.source<"w" : 64, slice<dim = 1, 0 to 4>>]

// -----

// expected-error@+1 {{source 'w': #attn.slice<dim = 0, 0 to 65> leaves dim 0 of [64]}}
attn.parameter @w : tensor<65xf32> from [#attn.source<"w" : 64, slice<dim = 0, 0 to 65>>]

// -----

// expected-error@+1 {{a transpose names each dim once, from 0 on, found <1, 1>}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w", transpose<1, 1>>]

// -----

// expected-error@+1 {{source 'w': #attn.transpose<1, 0> permutes 2 dims, but [4, 4, 4] has 3}}
attn.parameter @w : tensor<4x4x4xf32> from [#attn.source<"w" : 4x4x4, transpose<1, 0>>]

// -----

// expected-error@+1 {{source 'w': #attn.reshape<4x4> has 16 elements, but [4, 5] has 20}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w" : 4x5, reshape<4x4>>]

// -----

// expected-error@+1 {{a shape has at most 2^48 elements, found [4294967296, 4294967296, 2]}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w" : 4294967296x4294967296x2, reshape<4x4>>]

// -----

// expected-error@+1 {{extents are from 1 on, found [0, 4]}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w" : 4x4, reshape<0x4>>]

// -----

// expected-error@+1 {{expected a shape, as 12x64, or [] of a single element}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w" : 4x4, reshape<>>]

// -----

// expected-error@+1 {{a cast is to f32, bf16 or f16, found 'f64'}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", cast<f64>>]

// -----

// expected-error@+1 {{a scale is a finite number of f32 other than 0}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", scale<0.0>>]

// -----

// expected-error@+1 {{a scale is a finite number of f32 other than 0}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", scale<1.0e60>>]

// -----

// expected-error@+1 {{a summand is a finite number of f32 other than 0}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", add<0.0>>]

// -----

// expected-error@+1 {{a source has no transform 'flip', but slice, transpose, reshape, cast, scale, add}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", flip<1>>]

// -----

// expected-error@+1 {{source 'w': write its shape in the checkpoint behind the name, as in "w" : 64x96; type and transforms do not tell it}}
attn.parameter @w : tensor<4x4xf32> from [#attn.source<"w", reshape<4x4>>]

// -----

// expected-error@+1 {{source 'a': write its shape in the checkpoint behind the name}}
attn.parameter @w : tensor<4x4xf32> from concat<dim = 0> [#attn.source<"a">, #attn.source<"b">]

// -----

// expected-error@+1 {{source 'w': write its shape in the checkpoint behind the name}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w", transpose<1, 0>>]

// -----

// expected-error@+1 {{source 'w': gives [96, 64] after transpose<1, 0>, expected [64, 96]}}
attn.parameter @w : tensor<64x96xf32> from [#attn.source<"w" : 64x96, transpose<1, 0>>]

// -----

// expected-error@+1 {{source '{layer}.w': gives [96, 64], expected [64, 96]}}
attn.parameter @w layers 2 : tensor<2x64x96xf32> from [#attn.source<"{layer}.w" : 96x64>]

// -----

// expected-error@+1 {{has 2 sources, which concat<dim = D> or stack<dim = D> must join}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"a" : 2>, #attn.source<"b" : 2>]

// -----

// expected-error@+1 {{sources are joined by concat or stack, found 'sum'}}
attn.parameter @w : tensor<4xf32> from sum<dim = 0> [#attn.source<"a" : 2>, #attn.source<"b" : 2>]

// -----

// expected-error@+1 {{joins sources along dim 1 of [4], which has no such dim}}
attn.parameter @w : tensor<4xf32> from concat<dim = 1> [#attn.source<"a" : 2>, #attn.source<"b" : 2>]

// -----

// expected-error@+1 {{source 'b': gives [2, 3], which is no part of [4, 2] along dim 0}}
attn.parameter @w : tensor<4x2xf32> from concat<dim = 0> [#attn.source<"a" : 2x2>, #attn.source<"b" : 2x3>]

// -----

// expected-error@+1 {{source 'b': gives [2], which is no part of [4, 2] along dim 0}}
attn.parameter @w : tensor<4x2xf32> from concat<dim = 0> [#attn.source<"a" : 2x2>, #attn.source<"b" : 2>]

// -----

// expected-error@+1 {{has sources of 5 along dim 0 of [4, 2]}}
attn.parameter @w : tensor<4x2xf32> from concat<dim = 0> [#attn.source<"a" : 2x2>, #attn.source<"b" : 3x2>]

// -----

// expected-error@+1 {{stacks 2 sources along dim 0 of [3, 2]}}
attn.parameter @w : tensor<3x2xf32> from stack<dim = 0> [#attn.source<"a">, #attn.source<"b">]

// -----

// expected-error@+1 {{a checkpoint has no blocks of 'u4'}}
attn.parameter @w : tensor<64x256xf32> from [#attn.source<"w" : u4>]

// -----

// expected-error@+1 {{a checkpoint has no blocks of 'q9_k'}}
attn.parameter @w : tensor<64x256xf32> from [#attn.source<"w" : q9_k>]

// -----

// expected-error@+1 {{a tensor of q4_k has rows of blocks of 256, found [64, 320]}}
attn.parameter @w : tensor<64x320xf32> from [#attn.source<"w" : q4_k 64x320>]
