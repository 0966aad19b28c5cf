// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @weight(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs a weight [taps, channels] with static extents above 0, found 'tensor<?x8xf32>'}}
  %0 = attn.short_conv %x, %w rows(%begin) : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_taps(%x: tensor<?x8xf32>, %w: tensor<0x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs a weight [taps, channels] with static extents above 0, found 'tensor<0x8xf32>'}}
  %0 = attn.short_conv %x, %w rows(%begin) : tensor<?x8xf32>, tensor<0x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @channels(%x: tensor<?x8xf32>, %w: tensor<4x9xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{input 'tensor<?x8xf32>' and weight 'tensor<4x9xf32>' have different channels}}
  %0 = attn.short_conv %x, %w rows(%begin) : tensor<?x8xf32>, tensor<4x9xf32>, tensor<?xi32>
  return
}

// -----

func.func @bias(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>, %b: tensor<7xf32>) {
  // expected-error@+1 {{bias 'tensor<7xf32>' does not fit weight 'tensor<4x8xf32>'}}
  %0 = attn.short_conv %x, %w bias(%b : tensor<7xf32>) rows(%begin) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_offsets(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<0xi32>) {
  // expected-error@+1 {{needs rows [rows + 1], found 'tensor<0xi32>'}}
  %0 = attn.short_conv %x, %w rows(%begin) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<0xi32>
  return
}

// -----

func.func @no_dilation(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{has a dilation of 0 with 4 taps; supported are positive ones that reach at most 65536 tokens back}}
  %0 = attn.short_conv %x, %w dilation 0 rows(%begin) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @dilation(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{has a dilation of 30000 with 4 taps; supported are positive ones that reach at most 65536 tokens back}}
  %0 = attn.short_conv %x, %w dilation 30000 rows(%begin) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @one_tap(%x: tensor<?x8xf32>, %w: tensor<1x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x0x8xf32>) {
  // expected-error@+1 {{has a state, but one tap}}
  %0, %1 = attn.short_conv %x, %w rows(%begin) state(%s : tensor<?x0x8xf32>) : tensor<?x8xf32>, tensor<1x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @slots_alone(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>, %f: tensor<?xi32>) {
  // expected-error@+1 {{has slots, but no state}}
  %0 = attn.short_conv %x, %w rows(%begin) slots(%f : tensor<?xi32>, %f : tensor<?xi32>) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @state(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x3x8xf32>) {
  // expected-error@+1 {{needs a state [slots, 6, 8], found 'tensor<?x3x8xf32>'}}
  %0, %1 = attn.short_conv %x, %w dilation 2 rows(%begin) state(%s : tensor<?x3x8xf32>) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  return
}
