// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @positions_rank(%tokens: tensor<?x?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) {
  // expected-error@+1 {{'attn.positions' op needs operands of rank 1, found 'tensor<?x?xi32>'}}
  %0 = attn.positions %tokens, %begin, %past : tensor<?x?xi32>, tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @rope_rank(%x: tensor<?x64xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{'attn.rope' op needs an input [tokens, heads, static channels] and positions [tokens], found 'tensor<?x64xf32>' and 'tensor<?xi32>'}}
  %0 = attn.rope %x, %p frequencies [1.0] : tensor<?x64xf32>, tensor<?xi32>
  return
}

// -----

func.func @rope_channels(%x: tensor<?x4x?xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{needs an input [tokens, heads, static channels]}}
  %0 = attn.rope %x, %p frequencies [1.0] : tensor<?x4x?xf32>, tensor<?xi32>
  return
}

// -----

func.func @rope_tokens(%x: tensor<3x4x16xf32>, %p: tensor<4xi32>) {
  // expected-error@+1 {{found 'tensor<3x4x16xf32>' and 'tensor<4xi32>'}}
  %0 = attn.rope %x, %p frequencies [1.0] : tensor<3x4x16xf32>, tensor<4xi32>
  return
}

// -----

func.func @rope_too_many(%x: tensor<?x8x4xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{rotates 6 channels of 4}}
  %0 = attn.rope %x, %p frequencies [1.0, 0.1, 0.01] : tensor<?x8x4xf32>, tensor<?xi32>
  return
}

// -----

func.func @rope_none(%x: tensor<?x8x4xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{rotates 0 channels of 4}}
  %0 = attn.rope %x, %p frequencies [] : tensor<?x8x4xf32>, tensor<?xi32>
  return
}

// -----

func.func @rope_infinite(%x: tensor<?x8x4xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{needs finite frequencies, found INF}}
  %0 = attn.rope %x, %p frequencies [1.0e39] : tensor<?x8x4xf32>, tensor<?xi32>
  return
}
