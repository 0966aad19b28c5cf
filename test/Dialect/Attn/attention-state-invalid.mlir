// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @rank(%q: tensor<8x16xf32>, %k: tensor<64x2x8xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs query [m, d], key [n, d], value [n, dv] and acc [m, dv], found 'tensor<8x16xf32>', 'tensor<64x2x8xf32>', 'tensor<64x32xf32>' and 'tensor<8x32xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x2x8xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @channels(%q: tensor<8x16xf32>, %k: tensor<64x8xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x8xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @keys(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<32x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<32x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @acc(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @max(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<7xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<7xf32>, tensor<8xf32>
  return
}

// -----

func.func @sum(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<9xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<9xf32>
  return
}

// -----

func.func @mask(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{A5: mask region must yield 'i1'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      attn.yield %j : index
    }
  return
}

// -----

func.func @score(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{A5: score region must take (s: f32, b, h, q, kv: index, and one element of each extra operand, or a table whole): ('f32', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index')}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    score {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %1 = arith.constant 1.0 : f32
      attn.yield %1 : f32
    }
  return
}

// -----

func.func @extra_maps(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x?xf32>) {
  // expected-error@+1 {{has 0 maps for 1 extra operands}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x?xf32>) maps [] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_rank(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x?xf32>) {
  // expected-error@+1 {{map of extra operand 0 must be a projected permutation of (q, kv), or 0 for a unit dim, for 'tensor<8x?xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x?xf32>) maps [affine_map<(q, kv) -> (q)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_twice(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x8xf32>) {
  // expected-error@+1 {{map of extra operand 0 must be a projected permutation of (q, kv), or 0 for a unit dim, for 'tensor<8x8xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x8xf32>) maps [affine_map<(q, kv) -> (q, q)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_zero(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x2x?xf32>) {
  // expected-error@+1 {{map of extra operand 0 has 0 for a dim of 2 elements of 'tensor<8x2x?xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x2x?xf32>) maps [affine_map<(q, kv) -> (q, 0, kv)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_queries(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<4x?xf32>) {
  // expected-error@+1 {{has 8 queries, but extra operand 0 is 'tensor<4x?xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<4x?xf32>) maps [affine_map<(q, kv) -> (q, kv)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_keys(%q: tensor<8x16xf32>, %k: tensor<?x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x65xf32>) {
  // expected-error@+1 {{has 64 keys, but extra operand 0 is 'tensor<8x65xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x65xf32>) maps [affine_map<(q, kv) -> (q, kv)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<?x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @additive(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %w: tensor<17xf32>) {
  // expected-error@+1 {{additive vector 'tensor<17xf32>' does not fit query 'tensor<8x16xf32>' and key 'tensor<64x16xf32>'}}
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) additive(%w : tensor<17xf32>) init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_rank(%as: tensor<4x8xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{'attn.attention_merge' op needs parts [p, m, dv] and acc [m, dv], found 'tensor<4x8xf32>' and 'tensor<8x32xf32>'}}
  %0:3 = attn.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_acc(%as: tensor<4x8x64xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{parts 'tensor<4x8x64xf32>' do not fit acc 'tensor<8x32xf32>'}}
  %0:3 = attn.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_parts(%as: tensor<4x8x32xf32>, %ms: tensor<4x8xf32>, %ls: tensor<3x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs one max and one sum for each part and query of 'tensor<4x8x32xf32>', found 'tensor<3x8xf32>'}}
  %0:3 = attn.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x32xf32>, tensor<4x8xf32>, tensor<3x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_rows(%as: tensor<4x8x32xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<7xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x32xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<7xf32>
  return
}

// -----

func.func @lookup_parent(%t: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{A30: reads tables in score and mask regions, but is in 'func.func'}}
  %d = attn.lookup %t[%i] : tensor<4xf32> -> f32
  return
}
