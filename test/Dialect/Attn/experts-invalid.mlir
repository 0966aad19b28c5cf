// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @logits(%x: tensor<?x?xf32>) {
  // expected-error@+1 {{'attn.route' op needs logits [tokens, experts] with a static number of experts, found 'tensor<?x?xf32>'}}
  %0:2 = attn.route softmax %x of 8 : tensor<?x?xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @of(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op chooses of 9 experts, needs 1 to 4096, of which 'tensor<?x8xf32>' has a logit}}
  %0:2 = attn.route softmax %x of 9 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @results(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op needs weights and experts [tokens, k], found 'tensor<?x2xf32>' and 'tensor<?x3xi32>'}}
  %0:2 = attn.route softmax %x of 8 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x3xi32>
  return
}

// -----

func.func @chosen(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op chooses 9 of 8 experts}}
  %0:2 = attn.route softmax %x of 8 : tensor<?x8xf32> -> tensor<?x9xf32>, tensor<?x9xi32>
  return
}

// -----

func.func @chosen_within(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op chooses 3 of 2 experts}}
  %0:2 = attn.route softmax %x of 8 within 1 of 4 groups by 1 : tensor<?x8xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
  return
}

// -----

func.func @shares(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op has 8 experts, which 3 groups of at least 1 do not share equally}}
  %0:2 = attn.route softmax %x of 8 within 1 of 3 groups by 1 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @by(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op has 8 experts, which 4 groups of at least 3 do not share equally}}
  %0:2 = attn.route softmax %x of 8 within 2 of 4 groups by 3 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @groups(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{keeps 5 of 4 groups by the 1 largest: needs numbers from 1, no more kept than there are, and at most 8 largest}}
  %0:2 = attn.route softmax %x of 8 within 5 of 4 groups by 1 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @bias(%x: tensor<?x8xf32>, %bias: tensor<7xf32>) {
  // expected-error@+1 {{'attn.route' op needs a bias [8], found 'tensor<7xf32>'}}
  %0:2 = attn.route sigmoid %x, %bias of 8 : tensor<?x8xf32>, tensor<7xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @scale(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.route' op needs a finite scale}}
  %0:2 = attn.route softmax %x of 8 scale 0x7F800000 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @indices(%experts: tensor<?x8xi32>) {
  // expected-error@+1 {{'attn.group_rows' op needs experts and indices [tokens, k], found 'tensor<?x8xi32>' and 'tensor<?x7xi32>'}}
  %0:3 = attn.group_rows %experts : tensor<?x8xi32> -> tensor<?xi32>, tensor<?x7xi32>, tensor<129x2xi32>
  return
}

// -----

func.func @rows(%experts: tensor<3x8xi32>) {
  // expected-error@+1 {{'attn.group_rows' op gives rows 'tensor<25xi32>' of the pairs of 'tensor<3x8xi32>'}}
  %0:3 = attn.group_rows %experts : tensor<3x8xi32> -> tensor<25xi32>, tensor<3x8xi32>, tensor<129x2xi32>
  return
}

// -----

func.func @number(%experts: tensor<?x8xi32>) {
  // expected-error@+1 {{'attn.group_rows' op needs groups [experts + 1, 2] with 1 to 4096 experts, found 'tensor<1x2xi32>'}}
  %0:3 = attn.group_rows %experts : tensor<?x8xi32> -> tensor<?xi32>, tensor<?x8xi32>, tensor<1x2xi32>
  return
}

// -----

func.func @columns(%x: tensor<?x40xf32>, %w: tensor<?x8xf32>, %indices: tensor<?x8xi32>) {
  // expected-error@+1 {{'attn.combine_rows' op needs an input [pairs, n] and a result [tokens, n], found 'tensor<?x40xf32>' and 'tensor<?x41xf32>'}}
  %0 = attn.combine_rows %x, %w, %indices : tensor<?x40xf32>, tensor<?x8xf32>, tensor<?x8xi32> -> tensor<?x41xf32>
  return
}

// -----

func.func @weights(%x: tensor<?x40xf32>, %w: tensor<3x8xf32>, %indices: tensor<3x8xi32>) {
  // expected-error@+1 {{'attn.combine_rows' op needs weights [tokens, k] for the result 'tensor<?x40xf32>', found 'tensor<3x8xf32>'}}
  %0 = attn.combine_rows %x, %w, %indices : tensor<?x40xf32>, tensor<3x8xf32>, tensor<3x8xi32> -> tensor<?x40xf32>
  return
}

// -----

func.func @place(%x: tensor<?x40xf32>, %w: tensor<?x8xf32>, %indices: tensor<?x7xi32>) {
  // expected-error@+1 {{'attn.combine_rows' op needs the place of a row for each of the weights 'tensor<?x8xf32>', found 'tensor<?x7xi32>'}}
  %0 = attn.combine_rows %x, %w, %indices : tensor<?x40xf32>, tensor<?x8xf32>, tensor<?x7xi32> -> tensor<?x40xf32>
  return
}

// -----

func.func @pairs(%x: tensor<7x40xf32>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{'attn.combine_rows' op needs a row for each of the weights 'tensor<3x2xf32>', found 'tensor<7x40xf32>'}}
  %0 = attn.combine_rows %x, %w : tensor<7x40xf32>, tensor<3x2xf32> -> tensor<3x40xf32>
  return
}

// -----

func.func @linear_groups(%x: tensor<?x64xf32>, %w: tensor<64x160xf32>, %groups: tensor<?x2xi32>) {
  // expected-error@+1 {{'attn.linear' op needs groups [number + 1, 2] with static extents, found 'tensor<?x2xi32>'}}
  %0 = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x160xf32> groups tensor<?x2xi32> -> tensor<?x40xf32>
  return
}

// -----

func.func @linear_matrices(%x: tensor<?x64xf32>, %w: tensor<64x160xf32>, %groups: tensor<5x2xi32>) {
  // expected-error@+1 {{'attn.linear' op has groups of rows, but its weight 'tensor<64x160xf32>' is no whole number of matrices with the columns of its result 'tensor<?x41xf32>'}}
  %0 = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x160xf32> groups tensor<5x2xi32> -> tensor<?x41xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<?x64xf32>, %w: tensor<64x160xf32>, %b: tensor<40xf32>, %groups: tensor<5x2xi32>) {
  // expected-error@+1 {{'attn.linear' op extra operand 'tensor<40xf32>' has not the 40 elements of each matrix of 'tensor<64x160xf32>'}}
  %0 = attn.linear %x, %w, (%b) groups %groups : tensor<?x64xf32>, tensor<64x160xf32>, (tensor<40xf32>) groups tensor<5x2xi32> -> tensor<?x40xf32> {
  ^bb0(%sum: f32, %bias: f32):
    attn.yield %sum : f32
  }
  return
}
