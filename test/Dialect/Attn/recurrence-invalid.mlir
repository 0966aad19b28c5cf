// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @gates_rank(%x: tensor<8xf32>, %w: tensor<8x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs gates [tokens, 1 h] with h above 0, found 'tensor<8xf32>'}}
  %y, %l = attn.recurrence rnn_tanh %x, %w rows(%begin) : tensor<8xf32>, tensor<8x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<8x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs gates [tokens, 1 h] with h above 0, found 'tensor<?x?xf32>'}}
  %y, %l = attn.recurrence rnn_relu %x, %w rows(%begin) : tensor<?x?xf32>, tensor<8x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @parts(%x: tensor<?x8xf32>, %w: tensor<2x8xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs gates [tokens, 3 h] with h above 0, found 'tensor<?x8xf32>'}}
  %y, %l = attn.recurrence gru %x, %w rows(%begin) : tensor<?x8xf32>, tensor<2x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_columns(%x: tensor<?x0xf32>, %w: tensor<0x0xf32>, %begin: tensor<?xi32>) {
  // expected-error@+1 {{needs gates [tokens, 4 h] with h above 0, found 'tensor<?x0xf32>'}}
  %y, %l:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x0xf32>, tensor<0x0xf32>, tensor<?xi32>
  return
}

// -----

func.func @no_offsets(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %begin: tensor<0xi32>) {
  // expected-error@+1 {{needs row_begin [rows + 1], found 'tensor<0xi32>'}}
  %y, %l = attn.recurrence rnn_tanh %x, %w rows(%begin) : tensor<?x8xf32>, tensor<8x8xf32>, tensor<0xi32>
  return
}

// -----

func.func @one_state(%x: tensor<?x8xf32>, %w: tensor<2x8xf32>, %begin: tensor<?xi32>, %h: tensor<?x2xf32>) {
  // expected-error@+1 {{'attn.recurrence' op needs two initial states, h and c, or none, found 1}}
  %0 = "attn.recurrence"(%x, %w, %begin, %h) <{kind = #attn<recurrence_kind lstm>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> : (tensor<?x8xf32>, tensor<2x8xf32>, tensor<?xi32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return
}

// -----

func.func @two_states(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %begin: tensor<?xi32>, %h: tensor<?x8xf32>) {
  // expected-error@+1 {{'attn.recurrence' op needs one initial state, or none, found 2}}
  %y, %l:2 = attn.recurrence rnn_relu %x, %w rows(%begin) init(%h, %h) : tensor<?x8xf32>, tensor<8x8xf32>, tensor<?xi32>, tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @unequal_states(%x: tensor<?x8xf32>, %w: tensor<2x8xf32>, %begin: tensor<?xi32>, %h: tensor<?x2xf32>, %c: tensor<3x2xf32>) {
  // expected-error@+1 {{needs initial states of one type, found 'tensor<?x2xf32>' and 'tensor<3x2xf32>'}}
  %y, %l:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %c) : tensor<?x8xf32>, tensor<2x8xf32>, tensor<?xi32>, tensor<?x2xf32>, tensor<3x2xf32>
  return
}

// -----

func.func @state_columns(%x: tensor<?x9xf32>, %w: tensor<3x9xf32>, %begin: tensor<?xi32>, %h: tensor<?x2xf32>) {
  // expected-error@+1 {{initial state 'tensor<?x2xf32>' does not fit gates 'tensor<?x9xf32>' of 3 times 3 columns}}
  %y, %l = attn.recurrence gru %x, %w rows(%begin) init(%h) : tensor<?x9xf32>, tensor<3x9xf32>, tensor<?xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @bias(%x: tensor<?x6xf32>, %w: tensor<2x6xf32>, %b: tensor<2xf32>, %begin: tensor<?xi32>, %h: tensor<?x2xf32>) {
  // expected-error@+1 {{bias 'tensor<2xf32>' does not fit gates 'tensor<?x6xf32>'}}
  %y, %l = attn.recurrence gru %x, %w bias(%b : tensor<2xf32>) rows(%begin) init(%h) : tensor<?x6xf32>, tensor<2x6xf32>, tensor<?xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @rows(%x: tensor<?x2xf32>, %w: tensor<2x2xf32>, %begin: tensor<4xi32>, %h: tensor<4x2xf32>) {
  // expected-error@+1 {{needs one initial state for each of the 3 rows, found 'tensor<4x2xf32>'}}
  %y, %l = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) : tensor<?x2xf32>, tensor<2x2xf32>, tensor<4xi32>, tensor<4x2xf32>
  return
}

// -----

func.func @weight(%x: tensor<?x6xf32>, %w: tensor<6x2xf32>, %begin: tensor<?xi32>, %h: tensor<?x2xf32>) {
  // expected-error@+1 {{weight 'tensor<6x2xf32>' does not fit gates 'tensor<?x6xf32>' of 3 times 2 columns}}
  %y, %l = attn.recurrence gru %x, %w rows(%begin) init(%h) : tensor<?x6xf32>, tensor<6x2xf32>, tensor<?xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @panels(%x: tensor<?x96xf32>, %w: tensor<3x33x32xf32>, %begin: tensor<?xi32>, %h: tensor<?x32xf32>) {
  // expected-error@+1 {{weight 'tensor<3x33x32xf32>' in a layout does not fit gates 'tensor<?x96xf32>' of 3 times 32 columns}}
  %y, %l = attn.recurrence gru %x, %w rows(%begin) init(%h) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x96xf32>, tensor<3x33x32xf32>, tensor<?xi32>, tensor<?x32xf32>
  return
}

// -----

func.func @select_layer(%s: tensor<?x2xf32>, %l: index, %rows: tensor<?xi32>) {
  // expected-error@+1 {{'attn.select_rows' op needs an input of rank 3 and rows of rank 1, found 'tensor<?x2xf32>' and 'tensor<?xi32>'}}
  %0 = attn.select_rows %s[%l], %rows : tensor<?x2xf32>, tensor<?xi32> -> tensor<?x2xf32>
  return
}

// -----

func.func @update_layer(%s: tensor<?x2xf32>, %l: index, %v: tensor<?x2xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{'attn.update_rows' op needs a state of rank 3 with a layer, found 'tensor<?x2xf32>'}}
  %0 = attn.update_rows %s[%l], %v, %rows : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?xi32>
  return
}

// -----

func.func @update_without_layer(%s: tensor<?x3x2xf32>, %v: tensor<?x2xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{needs a state of rank 2 without a layer, found 'tensor<?x3x2xf32>'}}
  %0 = attn.update_rows %s, %v, %rows : tensor<?x3x2xf32>, tensor<?x2xf32>, tensor<?xi32>
  return
}

// -----

func.func @update_columns(%s: tensor<?x2xf32>, %v: tensor<?x3xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{values 'tensor<?x3xf32>' do not fit state 'tensor<?x2xf32>' and rows 'tensor<?xi32>'}}
  %0 = attn.update_rows %s, %v, %rows : tensor<?x2xf32>, tensor<?x3xf32>, tensor<?xi32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error@+2 {{needs an input}}
  // expected-error@+1 {{'attn.concat' op failed to infer returned types}}
  %0 = "attn.concat"() : () -> tensor<?x2xf32>
  return
}

// -----

func.func @concat_dynamic(%x: tensor<?x?xf32>) {
  // expected-error@+1 {{needs inputs [rows, columns] with static columns, found 'tensor<?x?xf32>'}}
  %0 = attn.concat %x : tensor<?x?xf32>
  return
}

// -----

func.func @concat_columns(%x: tensor<?x32xf32>) {
  // expected-error@+1 {{has columns for 1 of 2 inputs}}
  %0 = attn.concat %x, %x columns [1] : tensor<?x32xf32>, tensor<?x32xf32>
  return
}

// -----

func.func @concat_wide(%x: tensor<?x32xf32>) {
  // expected-error@+1 {{takes 33 columns of 'tensor<?x32xf32>'}}
  %0 = attn.concat %x columns [33] : tensor<?x32xf32>
  return
}

// -----

func.func @concat_narrow(%x: tensor<?x32xf32>) {
  // expected-error@+1 {{joins 64 columns, but its width is 63}}
  %0 = attn.concat %x, %x width 63 : tensor<?x32xf32>, tensor<?x32xf32>
  return
}

// -----

func.func @concat_overflow(%x: tensor<?x9223372036854775807xf32>) {
  // expected-error@+1 {{gives more columns than can be counted}}
  %0 = attn.concat %x, %x : tensor<?x9223372036854775807xf32>, tensor<?x9223372036854775807xf32>
  return
}

// -----

func.func @concat_rows(%x: tensor<?x32xf32>, %y: tensor<3x32xf32>) {
  // expected-error@+1 {{'attn.concat' op needs inputs of the same rows, found 'tensor<?x32xf32>' and 'tensor<3x32xf32>'}}
  %0 = attn.concat %x, %y : tensor<?x32xf32>, tensor<3x32xf32>
  return
}
