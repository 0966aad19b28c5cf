// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @rank(%q: tensor<?x16xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs query, key and value [tokens, heads, channels] with static heads and channels above 0, found 'tensor<?x16xf32>'}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x16xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @dynamic_heads(%q: tensor<?x2x8xf32>, %k: tensor<?x?x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{with static heads and channels above 0, found 'tensor<?x?x8xf32>'}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x?x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_channels(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x0xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{with static heads and channels above 0, found 'tensor<?x2x0xf32>'}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x0xf32>, tensor<?xi32>
  return
}

// -----

func.func @channels(%q: tensor<?x2x8xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{query 'tensor<?x2x8xf32>' and key 'tensor<?x2x4xf32>' have different channels}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x4xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @tokens(%q: tensor<3x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<4x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{'tensor<4x2x8xf32>' and query 'tensor<3x2x8xf32>' have different tokens}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<3x2x8xf32>, tensor<?x2x8xf32>, tensor<4x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_offsets(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<0xi32>) {
  // expected-error@+1 {{needs rows [rows + 1], found 'tensor<0xi32>'}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<0xi32>
  return
}

// -----

func.func @heads(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x3x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs a number of value heads that is a multiple of that of key heads, or the reverse, found 2 key heads and 3 value heads}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x3x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @query_heads(%q: tensor<?x3x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs a number of query heads that is a multiple of that of states, or the reverse, found 3 query heads and 2 states}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) : tensor<?x3x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @remainder(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{pairs by remainder, but has more query heads (4) than states (2)}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) pairing remainder : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_decay(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{gated needs a decay}}
  %0 = attn.linear_attention gated %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @decay(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %g: tensor<?x2xf32>) {
  // expected-error@+1 {{linear has no decay}}
  %0 = attn.linear_attention linear %q, %k, %v decay(%g : tensor<?x2xf32>) rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_beta(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{delta needs a beta}}
  %0 = attn.linear_attention delta %q, %k, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @beta(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %g: tensor<?x2xf32>) {
  // expected-error@+1 {{linear has no beta}}
  %0 = attn.linear_attention linear %q, %k, %v beta(%g : tensor<?x2xf32>) rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @decay_shape(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %g: tensor<?x1xf32>) {
  // expected-error@+1 {{needs a decay [tokens, 2] or [tokens, 2, 8], found 'tensor<?x1xf32>'}}
  %0 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x1xf32>) rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @decay_channels(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %g: tensor<?x2x4xf32>) {
  // expected-error@+1 {{needs a decay [tokens, 2] or [tokens, 2, 8], found 'tensor<?x2x4xf32>'}}
  %0 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x2x4xf32>) rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @beta_shape(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %g: tensor<?x4xf32>) {
  // expected-error@+1 {{needs a beta [tokens, 2], found 'tensor<?x4xf32>'}}
  %0 = attn.linear_attention delta %q, %k, %v beta(%g : tensor<?x4xf32>) rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @scale(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs a finite scale, found INF}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) scale 0x7FF0000000000000 : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @slots_alone(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %f: tensor<?xi32>) {
  // expected-error@+1 {{has slots, but no state}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) slots(%f : tensor<?xi32>, %f : tensor<?xi32>) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @layer_alone(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %l: index) {
  // expected-error@+1 {{has a layer, but no state}}
  %0 = attn.linear_attention linear %q, %k, %v rows(%begin) layer(%l) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @state_shape(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x8x4xf32>) {
  // expected-error@+1 {{needs a state [slots, 2, 8, 8], found 'tensor<?x2x8x4xf32>'}}
  %0, %1 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%s : tensor<?x2x8x4xf32>) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @state_layers(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x8x8xf32>, %l: index) {
  // expected-error@+1 {{needs a state [slots, layers, 2, 8, 8], found 'tensor<?x2x8x8xf32>'}}
  %0, %1 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%s : tensor<?x2x8x8xf32>) layer(%l) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @state_rows(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<4xi32>, %s: tensor<4x2x8x8xf32>) {
  // expected-error@+1 {{needs one state for each of the 3 rows, found 'tensor<4x2x8x8xf32>'}}
  %0, %1 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%s : tensor<4x2x8x8xf32>) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<4xi32>
  return
}

// -----

func.func @slots(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %begin: tensor<4xi32>, %s: tensor<9x2x8x8xf32>, %f: tensor<3xi32>, %t: tensor<2xi32>) {
  // expected-error@+1 {{needs one slot for each of the 3 rows, found 'tensor<2xi32>'}}
  %0, %1 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%s : tensor<9x2x8x8xf32>) slots(%f : tensor<3xi32>, %t : tensor<2xi32>) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<4xi32>
  return
}
