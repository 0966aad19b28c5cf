// RUN: rapt-opt --split-input-file --verify-diagnostics %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @count(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{'attn.attention_weights' op needs a map for query, key and each extra operand: 2, found 1}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#q] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#sum = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q + kv, hkv, g, dqk)>
func.func @sum(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{map 0 must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#sum, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#short = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
func.func @rank(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{map 1 has 2 results for 'tensor<?x2x16xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#q, #short] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#wrong = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, g, dqk)>
func.func @query(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{map 0 must be that of a query: q and dqk, not kv and dv}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#wrong, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#wrong = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
func.func @key(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{map 1 must be that of a key: kv and dqk, not q and dv}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#q, #wrong] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#wrong = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (dv)>
func.func @extra(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %e: tensor<?xf32>) {
  // expected-error@+1 {{map 2 must be that of an extra operand: not dqk and dv}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] extras(%e : tensor<?xf32>) maps [#q, #k, #wrong] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#rows = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
func.func @rows(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{needs packed queries, and with kv_begin packed keys, whose maps leave b out}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#rows, #k] : tensor<?x4x2x64xf32>, tensor<?x?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @dynamic(%w: tensor<?x4x2x?xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{updates [tokens, layers, heads, keys], nothing but tokens dynamic, found 'tensor<?x4x2x?xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#q, #k] : tensor<?x4x2x?xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @named(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{names 1 heads for 'tensor<?x4x2x64xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0] maps [#q, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @none(%w: tensor<?x4x0x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{names 0 heads for 'tensor<?x4x0x64xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [] maps [#q, #k] : tensor<?x4x0x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @head(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{names head 6 of 6}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 6] maps [#q, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @negative(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{names head -1 of 6}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [-1, 0] maps [#q, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @vector(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %v: tensor<17xf32>) {
  // expected-error@+1 {{needs an additive vector with an element for each of the static channels dqk, found 'tensor<17xf32>' for 'tensor<?x2x3x16xf32>'}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] additive(%v : tensor<17xf32>) maps [#q, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
func.func @region(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{mask region must take (b, h, q, kv: index, and one element of each extra operand, or a table whole)}}
  %0 = attn.attention_weights %w[%l], %q, %k, %s heads [0, 5] maps [#q, #k] : tensor<?x4x2x64xf32>, tensor<?x2x3x16xf32>, tensor<?x2x16xf32> mask {
    ^bb0(%b: index):
      %t = arith.constant true
      attn.yield %t : i1
    }
  return
}
