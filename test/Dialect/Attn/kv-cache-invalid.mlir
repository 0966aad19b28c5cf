// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{kv_cache extents must be positive, found 0 x 4 x 16}}
func.func private @layers(!attn.kv_cache<0 x 4 x 16, block = 64, f32>)

// -----

// expected-error@+1 {{kv_cache block must be positive, found 0}}
func.func private @no_block(!attn.kv_cache<2 x 4 x 16, block = 0, f32>)

// -----

// expected-error@+1 {{kv_cache element type must be f32, bf16, f16 or i8, found 'i16'}}
func.func private @element(!attn.kv_cache<2 x 4 x 16, block = 64, i16>)

// -----

func.func @types(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x4x16xf32>, %v: tensor<?x4x8xf32>, %t: tensor<?xi32>,
                 %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op needs keys and values of one type [tokens, heads, channels], found 'tensor<?x4x16xf32>' and 'tensor<?x4x8xf32>'}}
  %0 = attn.kv_append %cache[%i], %k, %v rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x4x16xf32>, tensor<?x4x8xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @rank(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x64xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{needs keys and values of one type [tokens, heads, channels]}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @heads(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x2x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{key 'tensor<?x2x16xf32>' does not fit '!attn.kv_cache<2 x 4 x 16, block = 64, f32>'}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @view_rank(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op gives keys [rows, positions, heads, channels], found 'tensor<?x4x16xf32>'}}
  %k, %v = attn.kv_view %cache[%i], %table : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x?xi32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @view_element(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{result 'tensor<?x?x4x16xbf16>' does not fit '!attn.kv_cache<2 x 4 x 16, block = 64, f32>'}}
  %k, %v = attn.kv_view %cache[%i], %table : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>
  return
}
