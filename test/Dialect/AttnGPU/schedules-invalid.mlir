// RUN: rapt-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected 'rows' from 1 to 1024, found 0}}
#bad = #attn_gpu.linear_tiles<rows = 0, columns = 64, depth = 64, warps = 4, stages = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'rows' from 1 to 1024, found 1099511627776}}
#bad = #attn_gpu.linear_tiles<rows = 1099511627776, columns = 64, depth = 64, warps = 4, stages = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'columns' from 1 to 1024, found 2048}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 2048, depth = 64, warps = 4, stages = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'depth' from 1 to 1024, found -1}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 64, depth = -1, warps = 4, stages = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'warps' from 1 to 32, found 4294967296}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 64, depth = 64, warps = 4294967296, stages = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'stages' from 2 to 8, found 1}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 64, depth = 64, warps = 4, stages = 1>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'parts' from 1 to 32, found 33}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, parts = 33>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'blocks' from 0 to 65535, found 65536}}
#bad = #attn_gpu.linear_tiles<rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, blocks = 65536>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'least' from 0 to 2147483647, found -1}}
#bad = #attn_gpu.linear_grid<tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>, least = -1>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'group' from 0 to 2147483647, found 2147483648}}
#bad = #attn_gpu.linear_grid<tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>, group = 2147483648>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'share' from 0 to 2147483647, found -88}}
#bad = #attn_gpu.linear_grid<tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>, share = -88>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'many_rows' with 'least'}}
#bad = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, many_rows = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'most_rows' with 'least'}}
#bad = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, most_rows = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>, group = 3>>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected tiles of f32 that all multiply in one way, found tf32x3 beside fma}}
#bad = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, matmul = fma>>, few_rows = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, matmul = tf32x3>>>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{found fma beside mma}}
#bad = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, few_rows = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, matmul = fma>>>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'keys' from 1 to 1024, found 0}}
#bad = #attn_gpu.attention_tiles<rows = 64, keys = 0, warps = 4>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'rows' from 1 to 1024, found 2048}}
#bad = #attn_gpu.attention_tiles<rows = 2048, keys = 64, warps = 4>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'warps' from 1 to 28, found 29}}
#bad = #attn_gpu.attention_tiles<rows = 64, keys = 64, warps = 29>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'blocks' from 0 to 65535, found -1}}
#bad = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = -1>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'least_keys' from 1 to 1048576, found 0}}
#bad = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = 264, least_keys = 0>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{found 8 and 4}}
#bad = #attn_gpu.norm_tiles<lanes = 8, threads = 4>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{found 12 and 128}}
#bad = #attn_gpu.norm_tiles<lanes = 12, threads = 128>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{found 1024 and 1024}}
#bad = #attn_gpu.norm_tiles<lanes = 1024, threads = 1024>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 16 or 32 columns, and 2, 4 or 8 warps, found 24 and 4}}
#bad = #attn_gpu.linear_attention_tiles<columns = 24, warps = 4>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 16 or 32 columns, and 2, 4 or 8 warps, found 32 and 3}}
#bad = #attn_gpu.linear_attention_tiles<columns = 32, warps = 3>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected no 'chunk', or one of 16 tokens for each warp, found 32}}
#bad = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 32>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected 'least' from 0 to 64, the chunk, found 65}}
#bad = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 65>
module attributes {bad = #bad} {}

// -----

// expected-error@+1 {{expected a 'matmul' of f32, found wgmma}}
#bad = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, matmul = wgmma>
module attributes {bad = #bad} {}

// -----

func.func @kind(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{attribute 'attn_gpu.schedule' is a #attn_gpu.linear_schedule of attn.linear, a #attn_gpu.attention_schedule of attn.attention, #attn_gpu.linear_attention_tiles of attn.linear_attention, or #attn_gpu.norm_tiles of a norm}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn_gpu.schedule = #attn_gpu.attention_tiles<rows = 64, keys = 64, warps = 4>} : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}

// -----

// expected-error@+1 {{attribute 'attn_gpu.schedule' is a #attn_gpu.linear_schedule of attn.linear}}
module attributes {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} {}

// -----

func.func @multiply(%x: !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  // expected-error@+1 {{multiplies f32, which mma does not}}
  %0 = attn_gpu.multiply mma %x[%i], %x[%i] k %i depth 8 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>
  return
}
