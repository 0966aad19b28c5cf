// RUN: rapt-opt --split-input-file --verify-diagnostics %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#rows = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
#out = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
func.func @packed(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{'attn.attention' op A33: has weights, so queries are packed: the maps of query and result must leave b out}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#rows, #k, #v, #out] : tensor<?x?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @dynamic(%w: tensor<?x4x2x?xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: updates weights [tokens, layers, heads, keys], nothing but tokens dynamic, found 'tensor<?x4x2x?xf32>'}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2x?xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @rank(%w: tensor<?x4x2xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: updates weights [tokens, layers, heads, keys], nothing but tokens dynamic, found 'tensor<?x4x2xf32>'}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @named(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: names 1 heads for the weights 'tensor<?x4x2x64xf32>'}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @none(%w: tensor<?x4x0x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: names 0 heads for the weights 'tensor<?x4x0x64xf32>'}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [] : tensor<?x4x0x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @head(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: names head 6 of 6; heads count from 0}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0, 6] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @negative(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: names head -1 of 6; heads count from 0}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [-1, 0] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @no_heads(%w: tensor<?x4x1x64xf32>, %l: index, %q: tensor<?x0x3x16xf32>, %k: tensor<?x0x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: names head 0 of 0; heads count from 0}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0] : tensor<?x4x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x0x3x16xf32>, tensor<?x0x16xf32>, tensor<?x0x16xf32> -> tensor<?x0x3x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @channels(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x3x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x0xf32>, %s: f32) {
  // expected-error@+1 {{A12: has values without channels: it gives no log-sum-exp and no weights}}
  %o, %new = attn.attention %q, %k, %v, %s weights(%w[%l] heads [0, 5] : tensor<?x4x2x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x8xf32>, tensor<?x2x8xf32>, tensor<?x2x0xf32> -> tensor<?x2x3x0xf32>
  return
}

// -----

// The types are those that are inferred, the names of the results are not.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @unasked(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A12: gives a log-sum-exp without 'log_sum_exp'}}
  %0:2 = "attn.attention"(%q, %k, %k, %s, %w, %l) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1>, resultSegmentSizes = array<i32: 1, 1, 0>, heads = array<i64: 0, 5>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32, tensor<?x4x2x64xf32>, index) -> (tensor<?x2x3x16xf32>, tensor<?x4x2x64xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @missing(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A12: has 'log_sum_exp', but no result for it}}
  %0 = "attn.attention"(%q, %k, %k, %s) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0>, lse_map = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g)>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32) -> (tensor<?x2x3x16xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @lse_type(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A12: gives the log-sum-exp 'tensor<7x2x3xf32>', expected 'tensor<?x2x3xf32>': the result's dims without dv}}
  %0:2 = "attn.attention"(%q, %k, %k, %s) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0>, lse_map = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g)>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32) -> (tensor<?x2x3x16xf32>, tensor<7x2x3xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @layer(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A33: needs weights, their layer and their heads, and gives the weights: all of them, or none}}
  %0:2 = "attn.attention"(%q, %k, %k, %s, %w) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>, resultSegmentSizes = array<i32: 1, 0, 1>, heads = array<i64: 0, 5>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32, tensor<?x4x2x64xf32>) -> (tensor<?x2x3x16xf32>, tensor<?x4x2x64xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @heads(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A33: needs weights, their layer and their heads, and gives the weights: all of them, or none}}
  %0:2 = "attn.attention"(%q, %k, %k, %s, %w, %l) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1>, resultSegmentSizes = array<i32: 1, 0, 1>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32, tensor<?x4x2x64xf32>, index) -> (tensor<?x2x3x16xf32>, tensor<?x4x2x64xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @unused_heads(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A33: needs weights, their layer and their heads, and gives the weights: all of them, or none}}
  %0 = "attn.attention"(%q, %k, %k, %s) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0>, heads = array<i64: 0, 5>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32) -> (tensor<?x2x3x16xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @weights_type(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %s: f32, %w: tensor<?x4x2x64xf32>, %l: index) {
  // expected-error@+1 {{A33: gives the weights 'tensor<9x4x2x64xf32>' for 'tensor<?x4x2x64xf32>'}}
  %0:2 = "attn.attention"(%q, %k, %k, %s, %w, %l) <{maps = [#q, #k, #v, #o], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1>, resultSegmentSizes = array<i32: 1, 0, 1>, heads = array<i64: 0, 5>}> ({}, {})
    : (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, f32, tensor<?x4x2x64xf32>, index) -> (tensor<?x2x3x16xf32>, tensor<9x4x2x64xf32>)
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
func.func @unmapped(%q: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{no log-sum-exp by these maps: the fourth must be the result's}}
  %o, %lse = attn.attention %q, %q, %q, %s log_sum_exp maps [#q, #k, #v] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
func.func @dynamic_heads(%w: tensor<?x4x1x64xf32>, %l: index, %q: tensor<?x2x?x16xf32>, %k: tensor<?x2x16xf32>, %s: f32) {
  // expected-error@+1 {{A33: updates weights of heads, but the extent of dim g is dynamic; expected a number}}
  %o, %new = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0] : tensor<?x4x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x?x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x?x16xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @tokens_A33(%q: tensor<5x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %w: tensor<6x4x1x64xf32>, %l: index) {
  // expected-error@+1 {{A33: updates weights of 6 tokens, but has 5 queries}}
  %o, %new = attn.attention %q, %k, %v, %s weights(%w[%l] heads [1] : tensor<6x4x1x64xf32>) maps [#q, #k, #v, #o] : tensor<5x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<5x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @keys_A34(%q: tensor<?x2x16xf32>, %k: tensor<65x2x16xf32>, %v: tensor<65x2x8xf32>, %s: f32, %w: tensor<?x4x1x64xf32>, %l: index) {
  // expected-error@+1 {{A34: has 65 keys, but the weights 'tensor<?x4x1x64xf32>' end at 64; make their last dim as large}}
  %o, %new = attn.attention %q, %k, %v, %s weights(%w[%l] heads [1] : tensor<?x4x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<65x2x16xf32>, tensor<65x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// A dim of channels is not among those of log-sum-exp.
func.func @lse_channels(%q: tensor<?x2x16xf32>, %s: f32) {
  %o, %lse = attn.attention %q, %q, %q, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  // expected-error@+1 {{A12: no log-sum-exp of 'tensor<?x2x16xf32>' by the map}}
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// Each other dim of the result is.
func.func @lse_few(%q: tensor<?x2x16xf32>, %s: f32) {
  %o, %lse = attn.attention %q, %q, %q, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q)>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  // expected-error@+1 {{A12: no log-sum-exp of 'tensor<?x2x16xf32>' by the map}}
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// And no dim that the result lacks.
func.func @lse_keys(%q: tensor<?x2x16xf32>, %s: f32) {
  %o, %lse = attn.attention %q, %q, %q, %s log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>) maps [#q, #k, #v, #o] : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  // expected-error@+1 {{A12: no log-sum-exp of 'tensor<?x2x16xf32>' by the map}}
  return
}
