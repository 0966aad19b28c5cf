// RUN: rapt-opt %s --split-input-file --verify-diagnostics

func.func @channels(%pixels: tensor<?x?x?x?xf32>) {
  // expected-error@+1 {{'attn.patches' op needs pixels [images, static channels, height, width], found 'tensor<?x?x?x?xf32>'}}
  %0 = attn.patches %pixels size 8 : tensor<?x?x?x?xf32> -> tensor<?x192xf32>
  return
}

// -----

func.func @size(%pixels: tensor<?x3x?x?xf32>) {
  // expected-error@+1 {{'attn.patches' op cuts patches of size 0}}
  %0 = attn.patches %pixels size 0 : tensor<?x3x?x?xf32> -> tensor<?x192xf32>
  return
}

// -----

func.func @too_large(%pixels: tensor<?x3x?x?xf32>) {
  // expected-error@+1 {{'attn.patches' op cuts patches of size 3037000500}}
  %0 = attn.patches %pixels size 3037000500 : tensor<?x3x?x?xf32> -> tensor<?x192xf32>
  return
}

// -----

func.func @columns(%pixels: tensor<?x3x?x?xf32>) {
  // expected-error@+1 {{'attn.patches' op gives tensor<?x27xf32>, found 'tensor<?x26xf32>'}}
  %0 = attn.patches %pixels size 3 : tensor<?x3x?x?xf32> -> tensor<?x26xf32>
  return
}

// -----

func.func @table(%table: tensor<?x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.resize_positions' op needs a static table of rank 2, found 'tensor<?x8xf32>'}}
  %0 = attn.resize_positions %table, %n, %n grid [2, 2] : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @grid(%table: tensor<5x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.resize_positions' op needs the height and the width of a grid, found [2, 0]}}
  %0 = attn.resize_positions %table, %n, %n grid [2, 0] : tensor<5x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @rows(%table: tensor<5x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.resize_positions' op has a grid of 2 x 3 patches, but a table of 5 rows}}
  %0 = attn.resize_positions %table, %n, %n grid [2, 3] : tensor<5x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @overflow(%table: tensor<5x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.resize_positions' op has a grid of 4294967296 x 4294967296 patches, but a table of 5 rows}}
  %0 = attn.resize_positions %table, %n, %n grid [4294967296, 4294967296] : tensor<5x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @positions(%table: tensor<5x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.resize_positions' op result 'tensor<5x8xf32>' does not fit table 'tensor<5x8xf32>'}}
  %0 = attn.resize_positions %table, %n, %n grid [2, 2] : tensor<5x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @width(%x: tensor<?x8xf32>, %class: tensor<1x9xf32>, %p: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.image_tokens' op needs patches, learned tokens, positions and a result of rank 2 and as many columns, found 'tensor<1x9xf32>' beside 'tensor<?x8xf32>'}}
  %0 = attn.image_tokens %x, %class, %p : tensor<?x8xf32>, tensor<1x9xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @learned(%x: tensor<?x8xf32>, %class: tensor<?x8xf32>, %p: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.image_tokens' op needs a static number of learned tokens, found 'tensor<?x8xf32>'}}
  %0 = attn.image_tokens %x, %class, %p : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @none(%x: tensor<?x8xf32>, %class: tensor<2x8xf32>, %p: tensor<2x8xf32>) {
  // expected-error@+1 {{'attn.image_tokens' op has 2 learned tokens and 2 positions: none is left for patches}}
  %0 = attn.image_tokens %x, %class, %p : tensor<?x8xf32>, tensor<2x8xf32>, tensor<2x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @tokens(%x: tensor<?x8xf32>, %class: tensor<1x8xf32>, %p: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.image_tokens' op gives a dynamic number of tokens, found 'tensor<4x8xf32>'}}
  %0 = attn.image_tokens %x, %class, %p : tensor<?x8xf32>, tensor<1x8xf32>, tensor<?x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @offsets(%n: index) {
  // expected-error@+1 {{'attn.equal_rows' op gives tensor<?xi32>, found 'tensor<5xi32>'}}
  %0 = attn.equal_rows %n, %n : tensor<5xi32>
  return
}

// -----

func.func @unpack(%x: tensor<?x8xf32>, %n: index) {
  // expected-error@+1 {{'attn.unpack_rows' op takes [?, columns] to [?, ?, columns], or more dims before the columns, found 'tensor<?x8xf32>' and 'tensor<?x4x8xf32>'}}
  %0 = attn.unpack_rows %x, %n : tensor<?x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----

func.func @unpack_columns(%x: tensor<?x8xf32>, %n: index) {
  // expected-error@+1 {{found 'tensor<?x8xf32>' and 'tensor<?x?x9xf32>'}}
  %0 = attn.unpack_rows %x, %n : tensor<?x8xf32> -> tensor<?x?x9xf32>
  return
}

// -----

func.func @unpack_padded(%x: tensor<?x4x32xf32>, %n: index) {
  // expected-error@+1 {{found 'tensor<?x4x32xf32>' and 'tensor<?x?x4x7xf32>'}}
  %0 = attn.unpack_rows %x, %n : tensor<?x4x32xf32> -> tensor<?x?x4x7xf32>
  return
}

// -----

func.func @unpack_extents(%x: tensor<?x?x8xf32>, %n: index) {
  // expected-error@+1 {{found 'tensor<?x?x8xf32>' and 'tensor<?x?x?x8xf32>'}}
  %0 = attn.unpack_rows %x, %n : tensor<?x?x8xf32> -> tensor<?x?x?x8xf32>
  return
}

// -----

func.func @unpack_rank(%x: tensor<?x4x8xf32>, %n: index) {
  // expected-error@+1 {{found 'tensor<?x4x8xf32>' and 'tensor<?x?x8xf32>'}}
  %0 = attn.unpack_rows %x, %n : tensor<?x4x8xf32> -> tensor<?x?x8xf32>
  return
}
