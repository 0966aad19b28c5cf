// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @counted_with_past(%tokens: tensor<?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) {
  // expected-error@+1 {{'attn.positions' op leaves padding out, which needs rows without a past}}
  %0 = attn.positions %tokens, %begin, %past padding 1 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @table_of_longer_texts(%p: tensor<?xi32>, %l: tensor<?xi32>) {
  // expected-error@+1 {{'attn.rotary_table' op needs lengths as positions and 2 frequencies of longer texts, found 'tensor<?xi32>' and 1}}
  %0:2 = attn.rotary_table %p frequencies [1.0, 0.5] beyond 16 of %l frequencies [0.5] : tensor<?xi32>, tensor<?xi32> -> tensor<?x2xf32>
  return
}

// -----

func.func @table_without_bound(%p: tensor<?xi32>, %l: tensor<?xi32>) {
  // expected-error@+1 {{'attn.rotary_table' op needs a bound, lengths and frequencies of longer texts, or none of them}}
  %0:2 = "attn.rotary_table"(%p, %l) {frequencies = array<f32: 1.0, 0.5>} : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x2xf32>, tensor<?x2xf32>)
  return
}

// -----

func.func @positions_rank(%tokens: tensor<?x?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) {
  // expected-error@+1 {{'attn.positions' op needs operands of rank 1, found 'tensor<?x?xi32>'}}
  %0 = attn.positions %tokens, %begin, %past : tensor<?x?xi32>, tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @rope_rank(%x: tensor<?x64xf32>, %t: tensor<?x4xf32>) {
  // expected-error@+1 {{'attn.rope' op needs an input [tokens, heads, static channels] and a table [tokens, static pairs], found 'tensor<?x64xf32>' and 'tensor<?x4xf32>'}}
  %0 = attn.rope %x, %t, %t : tensor<?x64xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @rope_channels(%x: tensor<?x4x?xf32>, %t: tensor<?x1xf32>) {
  // expected-error@+1 {{needs an input [tokens, heads, static channels]}}
  %0 = attn.rope %x, %t, %t : tensor<?x4x?xf32>, tensor<?x1xf32>
  return
}

// -----

func.func @rope_pairs(%x: tensor<?x4x4xf32>, %t: tensor<?x?xf32>) {
  // expected-error@+1 {{a table [tokens, static pairs]}}
  %0 = attn.rope %x, %t, %t : tensor<?x4x4xf32>, tensor<?x?xf32>
  return
}

// -----

func.func @rope_tokens(%x: tensor<3x4x16xf32>, %t: tensor<4x2xf32>) {
  // expected-error@+1 {{found 'tensor<3x4x16xf32>' and 'tensor<4x2xf32>'}}
  %0 = attn.rope %x, %t, %t : tensor<3x4x16xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @rope_too_many(%x: tensor<?x8x5xf32>, %t: tensor<?x3xf32>) {
  // expected-error@+1 {{rotates 3 pairs of 5 channels}}
  %0 = attn.rope %x, %t, %t : tensor<?x8x5xf32>, tensor<?x3xf32>
  return
}

// -----

func.func @rope_heads(%x: tensor<?x8x4xf32>, %t: tensor<?x2xf32>) {
  // expected-error@+1 {{rotates 9 heads of 'tensor<?x8x4xf32>'}}
  %0 = attn.rope %x, %t, %t heads 9 : tensor<?x8x4xf32>, tensor<?x2xf32>
  return
}

// -----

func.func @rope_negative_heads(%x: tensor<?x8x4xf32>, %t: tensor<?x2xf32>) {
  // expected-error@+1 {{rotates -1 heads of 'tensor<?x8x4xf32>'}}
  %0 = attn.rope %x, %t, %t heads -1 : tensor<?x8x4xf32>, tensor<?x2xf32>
  return
}

// -----

func.func @rope_unknown_heads(%x: tensor<?x?x4xf32>, %t: tensor<?x2xf32>) {
  // expected-error@+1 {{rotates 1 heads of 'tensor<?x?x4xf32>'}}
  %0 = attn.rope %x, %t, %t heads 1 : tensor<?x?x4xf32>, tensor<?x2xf32>
  return
}

// -----

func.func @rope_none(%x: tensor<?x8x4xf32>, %t: tensor<?x0xf32>) {
  // expected-error@+1 {{rotates 0 pairs of 4 channels}}
  %0 = attn.rope %x, %t, %t : tensor<?x8x4xf32>, tensor<?x0xf32>
  return
}

// -----

func.func @table_none(%p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.rotary_table' op needs at least one frequency}}
  %0:2 = attn.rotary_table %p frequencies [] : tensor<?xi32> -> tensor<?x0xf32>
  return
}

// -----

func.func @table_columns(%p: tensor<?xi32>) {
  // expected-error@+1 {{needs positions [tokens] and gives [tokens, 2], found 'tensor<?xi32>' and 'tensor<?x1xf32>'}}
  %0:2 = attn.rotary_table %p frequencies [1.0, 0.5] : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @table_rank(%p: tensor<?x?xi32>) {
  // expected-error@+1 {{needs positions [tokens]}}
  %0:2 = attn.rotary_table %p frequencies [1.0] : tensor<?x?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @table_tokens(%p: tensor<3xi32>) {
  // expected-error@+1 {{found 'tensor<3xi32>' and 'tensor<4x1xf32>'}}
  %0:2 = attn.rotary_table %p frequencies [1.0] : tensor<3xi32> -> tensor<4x1xf32>
  return
}

// -----

func.func @table_infinite(%p: tensor<?xi32>) {
  // expected-error@+1 {{needs finite frequencies, found INF}}
  %0:2 = attn.rotary_table %p frequencies [1.0e39] : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @sinusoids_none(%p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.sinusoids' op needs at least one frequency}}
  %0 = attn.sinusoids %p frequencies [] : tensor<?xi32> -> tensor<?x0xf32>
  return
}

// -----

func.func @sinusoids_infinite(%p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.sinusoids' op needs finite frequencies, found INF}}
  %0 = attn.sinusoids %p frequencies [1.0e39] : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @sinusoids_halves(%p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.sinusoids' op has 3 frequencies, whose halves are not equal}}
  %0 = attn.sinusoids %p frequencies [1.0, 0.5, 0.25] halves : tensor<?xi32> -> tensor<?x3xf32>
  return
}

// -----

func.func @sinusoids_first(%p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.sinusoids' op has first -1, must be from 0 to 2147483647}}
  %0 = attn.sinusoids %p frequencies [1.0] first -1 : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @sinusoids_columns(%p: tensor<?xi32>) {
  // expected-error@+1 {{needs positions [tokens] and gives [tokens, 2], found 'tensor<?xi32>' and 'tensor<?x1xf32>'}}
  %0 = attn.sinusoids %p frequencies [1.0, 0.5] : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

func.func @sinusoids_tokens(%p: tensor<3xi32>) {
  // expected-error@+1 {{found 'tensor<3xi32>' and 'tensor<4x1xf32>'}}
  %0 = attn.sinusoids %p frequencies [1.0] : tensor<3xi32> -> tensor<4x1xf32>
  return
}

// -----

func.func @sinusoids_rank(%p: tensor<?x?xi32>) {
  // expected-error@+1 {{needs positions [tokens]}}
  %0 = attn.sinusoids %p frequencies [1.0] : tensor<?x?xi32> -> tensor<?x1xf32>
  return
}
