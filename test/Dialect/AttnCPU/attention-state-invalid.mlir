// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @dynamic(%q: tensor<?x?xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<?x32xf32>, %m: tensor<?xf32>, %l: tensor<?xf32>) {
  // expected-error@+1 {{'attn_cpu.attention_state' op needs static numbers of channels}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<?x?xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @rank(%q: tensor<8x16xf32>, %k: tensor<64x16xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs query [m, d], key [b/32, d, 32], value [dv/32, b, 32] and acc [m, dv]}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<64x16xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @panel(%q: tensor<8x16xf32>, %k: tensor<4x16x16xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{key 'tensor<4x16x16xf32>', value 'tensor<1x64x32xf32>' and acc 'tensor<8x32xf32>' do not fit query 'tensor<8x16xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<4x16x16xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @channels(%q: tensor<8x16xf32>, %k: tensor<2x8x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x8x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @keys(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x32x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x32x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @acc(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @max(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<7xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<7xf32>, tensor<8xf32>
  return
}

// -----

func.func @sum(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<9xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<9xf32>
  return
}

// -----

func.func @mask(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{A5: mask region must yield 'i1'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      attn.yield %j : index
    }
  return
}

// -----

func.func @score(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{A5: score region must take (s: f32, b, h, q, kv: index, and one element of each extra operand, or a table whole): ('f32', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index')}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    score {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %1 = arith.constant 1.0 : f32
      attn.yield %1 : f32
    }
  return
}

// -----

func.func @extra_maps(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x?xf32>) {
  // expected-error@+1 {{has 0 maps for 1 extra operands}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x?xf32>) maps [] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_rank(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x?xf32>) {
  // expected-error@+1 {{map of extra operand 0 must be a projected permutation of (q, kv), or 0 for a unit dim, for 'tensor<8x?xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x?xf32>) maps [affine_map<(q, kv) -> (q)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_twice(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x8xf32>) {
  // expected-error@+1 {{map of extra operand 0 must be a projected permutation of (q, kv), or 0 for a unit dim, for 'tensor<8x8xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x8xf32>) maps [affine_map<(q, kv) -> (q, q)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_zero(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<8x2x?xf32>) {
  // expected-error@+1 {{map of extra operand 0 has 0 for a dim of 2 elements of 'tensor<8x2x?xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<8x2x?xf32>) maps [affine_map<(q, kv) -> (q, 0, kv)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @extra_queries(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<4x?xf32>) {
  // expected-error@+1 {{has 8 queries, but extra operand 0 is 'tensor<4x?xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<4x?xf32>) maps [affine_map<(q, kv) -> (q, kv)>] init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @additive(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %w: tensor<17xf32>) {
  // expected-error@+1 {{additive vector 'tensor<17xf32>' does not fit query 'tensor<8x16xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) additive(%w : tensor<17xf32>) init(%acc, %m, %m)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// Channels are padded to a multiple of 32 and no further.
func.func @additive_short(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %w: tensor<32xf32>) {
  // expected-error@+1 {{additive vector 'tensor<32xf32>' does not fit query 'tensor<8x64xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) additive(%w : tensor<32xf32>) init(%acc, %m, %m)
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_rank(%as: tensor<4x8xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{'attn_cpu.attention_merge' op needs parts [p, m, dv] and acc [m, dv], found 'tensor<4x8xf32>' and 'tensor<8x32xf32>'}}
  %0:3 = attn_cpu.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_acc(%as: tensor<4x8x64xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{parts 'tensor<4x8x64xf32>' do not fit acc 'tensor<8x32xf32>'}}
  %0:3 = attn_cpu.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_parts(%as: tensor<4x8x32xf32>, %ms: tensor<4x8xf32>, %ls: tensor<3x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs one max and one sum for each part and query of 'tensor<4x8x32xf32>', found 'tensor<3x8xf32>'}}
  %0:3 = attn_cpu.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x32xf32>, tensor<4x8xf32>, tensor<3x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @merge_rows(%as: tensor<4x8x32xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<7xf32>) {
  // expected-error@+1 {{needs one max and one sum for each of the 8 queries}}
  %0:3 = attn_cpu.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x32xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<7xf32>
  return
}

// -----

func.func @heads(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %e: tensor<?xf32>) {
  // expected-error@+1 {{has 8 rows, which are no multiple of its 3 heads}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e : tensor<?xf32>) maps [affine_map<(q, kv) -> (kv)>] init(%acc, %m, %m) {heads = 3 : i64}
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// Only bf16 is VNNI-packed, and an interleaved line has two channels.
func.func @vnni(%q: tensor<8x16xf32>, %k: tensor<2x16x64xbf16>, %v: tensor<1x32x64xbf16>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{key 'tensor<2x16x64xbf16>', value 'tensor<1x32x64xbf16>' and acc 'tensor<8x32xf32>' do not fit query 'tensor<8x16xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %m) : tensor<8x16xf32>, tensor<2x16x64xbf16>, tensor<1x32x64xbf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @interleaved_f16(%q: tensor<8x16xf32>, %k: tensor<2x8x64xf16>, %v: tensor<1x32x64xf16>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{do not fit query 'tensor<8x16xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %m) : tensor<8x16xf32>, tensor<2x8x64xf16>, tensor<1x32x64xf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @not_vnni_packed(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>) {
  // expected-error@+1 {{has 'bf16_matmul', which needs VNNI-packed keys and values and no additive similarity, found 'tensor<2x16x32xf32>' and 'tensor<1x64x32xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %m) {bf16_matmul} : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @prefetch(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{needs 'rows' with matrices that it prefetches, and only with them}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) prefetch(%k : tensor<2x16x32xf32>) rows(%at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @bf16(%q: tensor<?x4x16xf32>, %s: f32, %v: tensor<16xf32>) {
  // expected-error@+1 {{has 'attn_cpu.bf16_matmul' and an additive similarity, which is no matmul}}
  %0 = attn.attention %q, %q, %q, %s additive(%v : tensor<16xf32>) maps [#q, #k, #v, #o] {attn_cpu.bf16_matmul} : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @bf16_matmul(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{attribute 'attn_cpu.bf16_matmul' is a unit attribute of attn.attention}}
  %y = attn.linear %x, %w {attn_cpu.bf16_matmul} : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// Panels of bf16 are VNNI-packed.
func.func @not_packed(%q: tensor<8x16xf32>, %k: tensor<2x16x32xbf16>, %v: tensor<1x32x64xbf16>, %s: f32, %at: index, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error@+1 {{key 'tensor<2x16x32xbf16>', value 'tensor<1x32x64xbf16>' and acc 'tensor<8x32xf32>' do not fit query 'tensor<8x16xf32>'}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%at, %at, %at, %at) init(%a, %m, %l) : tensor<8x16xf32>, tensor<2x16x32xbf16>, tensor<1x32x64xbf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}
