// Attention in its forms: packed and dense rows, grouped heads, windows, soft caps, biases, tiles.
#qp = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#kp = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#vp = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#op = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#qd = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, g, q, dqk)>
#kd = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, kv, dqk)>
#vt = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, dv, kv)>
#od = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
#kc = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#vc = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#head = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g)>
#pairs = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, kv)>
#packed_q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q)>

// Documents packed in both dims: row b's queries see row b's keys, no mask.
func.func @documents(%q: tensor<?x2x3x5xf32> {attn.name = "q"}, %k: tensor<?x2x5xf32> {attn.name = "k"}, %v: tensor<?x2x7xf32> {attn.name = "v"},
                     %qb: tensor<?xi32> {attn.name = "q_begin"}, %kb: tensor<?xi32> {attn.name = "kv_begin"}) -> tensor<?x2x3x7xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x2x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x7xf32> -> tensor<?x2x3x7xf32>
  return %0 : tensor<?x2x3x7xf32>
}
// Bahdanau's similarity; key 2 is masked.
func.func @additive(%q: tensor<?x2x3x5xf32> {attn.name = "q"}, %k: tensor<?x2x5xf32> {attn.name = "k"}, %v: tensor<?x2x7xf32> {attn.name = "v"},
                    %qb: tensor<?xi32> {attn.name = "q_begin"}, %kb: tensor<?xi32> {attn.name = "kv_begin"}, %w: tensor<5xf32> {attn.name = "vector"}) -> tensor<?x2x3x7xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) additive(%w : tensor<5xf32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x2x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x7xf32> -> tensor<?x2x3x7xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %two = arith.constant 2 : index
      %keep = arith.cmpi ne, %j, %two : index
      attn.yield %keep : i1
    }
  return %0 : tensor<?x2x3x7xf32>
}
// Sinks of bf16, one for each query head; h counts them. Key 1 is masked.
func.func @sinks(%q: tensor<?x2x3x5xf32> {attn.name = "q"}, %k: tensor<?x2x5xf32> {attn.name = "k"}, %v: tensor<?x2x7xf32> {attn.name = "v"},
                 %qb: tensor<?xi32> {attn.name = "q_begin"}, %kb: tensor<?xi32> {attn.name = "kv_begin"}, %sink: tensor<?xbf16> {attn.name = "sink"},
                 %w: tensor<?x1x6x13xf32> {attn.name = "w"}) -> (tensor<?x2x3x7xf32>, tensor<?x2x3xf32>, tensor<?x1x6x13xf32>) {
  %scale = arith.constant 0.5 : f32
  %layer = arith.constant 0 : index
  %0:3 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) sink(%sink : tensor<?xbf16>)
    weights(%w[%layer] heads [0, 1, 2, 3, 4, 5] : tensor<?x1x6x13xf32>) log_sum_exp maps [#qp, #kp, #vp, #op]
    : tensor<?x2x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x7xf32> -> tensor<?x2x3x7xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %one = arith.constant 1 : index
      %keep = arith.cmpi ne, %j, %one : index
      attn.yield %keep : i1
    }
  return %0#0, %0#1, %0#2 : tensor<?x2x3x7xf32>, tensor<?x2x3xf32>, tensor<?x1x6x13xf32>
}
// Dense rows whose numbers of keys differ; values transposed; ALiBi-like bias by head and a soft cap.
func.func @dense(%q: tensor<?x2x3x?x5xf32> {attn.name = "q"}, %k: tensor<?x2x?x5xf32> {attn.name = "k"}, %v: tensor<?x2x7x?xf32> {attn.name = "v"},
                 %kl: tensor<?xi32> {attn.name = "kv_length"}, %slope: tensor<2x3xf32> {attn.name = "slope"}, %scale: f32 {attn.name = "scale"})
    -> tensor<?x?x2x3x7xf32> {
  %0 = attn.attention %q, %k, %v, %scale kv_length(%kl : tensor<?xi32>) extras(%slope : tensor<2x3xf32>) maps [#qd, #kd, #vt, #od, #head]
    : tensor<?x2x3x?x5xf32>, tensor<?x2x?x5xf32>, tensor<?x2x7x?xf32> -> tensor<?x?x2x3x7xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: f32):
      %cap = arith.constant 2.0 : f32
      %1 = arith.divf %s, %cap : f32
      %2 = math.tanh %1 : f32
      %3 = arith.mulf %2, %cap : f32
      %4 = arith.subi %j, %i : index
      %5 = arith.index_cast %4 : index to i32
      %6 = arith.sitofp %5 : i32 to f32
      %7 = arith.mulf %6, %m : f32
      %8 = arith.addf %3, %7 : f32
      attn.yield %8 : f32
    }
  return %0 : tensor<?x?x2x3x7xf32>
}
// Packed queries over cached rows: causal, and only the last 4 keys; masked keys hold NaN in the test.
func.func @window(%q: tensor<?x2x3x5xf32> {attn.name = "q"}, %k: tensor<?x?x2x5xf32> {attn.name = "k"}, %v: tensor<?x?x2x7xf32> {attn.name = "v"},
                  %qb: tensor<?xi32> {attn.name = "q_begin"}, %past: tensor<?xi32> {attn.name = "past"}) -> tensor<?x2x3x7xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#qp, #kc, #vc, #op]
    : tensor<?x2x3x5xf32>, tensor<?x?x2x5xf32>, tensor<?x?x2x7xf32> -> tensor<?x2x3x7xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %1 = arith.cmpi sle, %j, %i : index
      %2 = arith.subi %i, %j : index
      %c4 = arith.constant 4 : index
      %3 = arith.cmpi slt, %2, %c4 : index
      %4 = arith.andi %1, %3 : i1
      attn.yield %4 : i1
    }
  return %0 : tensor<?x2x3x7xf32>
}
// A mask and a bias by (row, query, key) with packed queries, and a limit by packed query; some rows keep nothing.
func.func @extras(%q: tensor<?x2x3x5xf32> {attn.name = "q"}, %k: tensor<?x?x2x5xf32> {attn.name = "k"}, %v: tensor<?x?x2x7xf32> {attn.name = "v"},
                  %qb: tensor<?xi32> {attn.name = "q_begin"}, %bias: tensor<?x?x?xf32> {attn.name = "bias"},
                  %keep: tensor<?x?x?xi1> {attn.name = "keep"}, %last: tensor<?xi32> {attn.name = "last"}) -> tensor<?x2x3x7xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>)
      extras(%bias, %keep, %last : tensor<?x?x?xf32>, tensor<?x?x?xi1>, tensor<?xi32>) maps [#qp, #kc, #vc, #op, #pairs, #pairs, #packed_q]
    : tensor<?x2x3x5xf32>, tensor<?x?x2x5xf32>, tensor<?x?x2x7xf32> -> tensor<?x2x3x7xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32, %m: i1, %l: i32):
      %1 = arith.addf %s, %e : f32
      attn.yield %1 : f32
    }
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32, %m: i1, %l: i32):
      %1 = arith.index_cast %l : i32 to index
      %2 = arith.cmpi sle, %j, %1 : index
      %3 = arith.andi %2, %m : i1
      attn.yield %3 : i1
    }
  return %0 : tensor<?x2x3x7xf32>
}
func.func @heads(%x: tensor<?x31xf32> {attn.name = "x"}) -> (tensor<?x15xf32>, tensor<?x10xf32>, tensor<?x2x3xf32>) {
  %q, %k, %v = attn.split_heads %x : tensor<?x31xf32> -> tensor<?x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x3xf32>
  %0 = attn.merge_heads %q : tensor<?x3x5xf32> -> tensor<?x15xf32>
  %1 = attn.merge_heads %k : tensor<?x2x5xf32> -> tensor<?x10xf32>
  return %0, %1, %v : tensor<?x15xf32>, tensor<?x10xf32>, tensor<?x2x3xf32>
}
// Two blocks of keys, one after the other; the second one has a mask, a bias for each query and key, and one for each key.
func.func @state(%q: tensor<5x7xf32> {attn.name = "q"}, %k0: tensor<64x7xf32> {attn.name = "k0"}, %v0: tensor<64x32xf32> {attn.name = "v0"},
                 %k1: tensor<?x7xf32> {attn.name = "k1"}, %v1: tensor<?x32xf32> {attn.name = "v1"}, %first: index {attn.name = "first"},
                 %bias: tensor<?x1x5xf32> {attn.name = "bias"}, %ids: tensor<?xi32> {attn.name = "ids"},
                 %acc: tensor<5x32xf32> {attn.name = "acc"}, %max: tensor<5xf32> {attn.name = "max"}, %sum: tensor<5xf32> {attn.name = "sum"})
    -> (tensor<5x32xf32> {attn.name = "new_acc"}, tensor<5xf32> {attn.name = "new_max"}, tensor<5xf32> {attn.name = "new_sum"}) {
  %scale = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %0:3 = attn.attention_state %q, %k0, %v0, %scale at(%c0, %c1, %first, %c0) init(%acc, %max, %sum)
    : tensor<5x7xf32>, tensor<64x7xf32>, tensor<64x32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<5xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %1 = math.tanh %s : f32
      attn.yield %1 : f32
    }
  %2:3 = attn.attention_state %q, %k1, %v1, %scale at(%c0, %c1, %first, %c64) extras(%bias, %ids : tensor<?x1x5xf32>, tensor<?xi32>)
    maps [affine_map<(q, kv) -> (kv, 0, q)>, affine_map<(q, kv) -> (kv)>] init(%0#0, %0#1, %0#2)
    : tensor<5x7xf32>, tensor<?x7xf32>, tensor<?x32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<5xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32, %id: i32):
      %1 = arith.addf %s, %e : f32
      attn.yield %1 : f32
    }
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32, %id: i32):
      %c3 = arith.constant 3 : i32
      %1 = arith.cmpi sle, %j, %i : index
      %2 = arith.cmpi ne, %id, %c3 : i32
      %3 = arith.andi %1, %2 : i1
      attn.yield %3 : i1
    }
  return %2#0, %2#1, %2#2 : tensor<5x32xf32>, tensor<5xf32>, tensor<5xf32>
}

func.func @merge(%accs: tensor<?x?x32xf32> {attn.name = "accs"}, %maxs: tensor<?x?xf32> {attn.name = "maxs"},
                 %sums: tensor<?x?xf32> {attn.name = "sums"}, %acc: tensor<?x32xf32> {attn.name = "acc"},
                 %max: tensor<?xf32> {attn.name = "max"}, %sum: tensor<?xf32> {attn.name = "sum"})
    -> (tensor<?x32xf32> {attn.name = "new_acc"}, tensor<?xf32> {attn.name = "new_max"}, tensor<?xf32> {attn.name = "new_sum"}) {
  %0:3 = attn.attention_merge %accs, %maxs, %sums init(%acc, %max, %sum)
    : tensor<?x?x32xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
  return %0#0, %0#1, %0#2 : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
}
// The result, log-sum-exp and weights of the same; key 1 and head 5 are masked, key 3 and head 4 have scores of -infinity.
func.func @outputs(%w: tensor<?x3x3x13xf32> {attn.name = "w"}, %layer: index {attn.name = "layer"}, %q: tensor<?x2x3x5xf32> {attn.name = "q"},
                   %k: tensor<?x2x5xf32> {attn.name = "k"}, %v: tensor<?x2x7xf32> {attn.name = "v"}, %qb: tensor<?xi32> {attn.name = "q_begin"},
                   %kb: tensor<?xi32> {attn.name = "kv_begin"}) -> (tensor<?x2x3x7xf32>, tensor<?x2x3xf32>, tensor<?x3x3x13xf32>) {
  %scale = arith.constant 0.5 : f32
  %o, %lse, %new = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)
    weights(%w[%layer] heads [0, 4, 5] : tensor<?x3x3x13xf32>) log_sum_exp maps [#qp, #kp, #vp, #op]
    : tensor<?x2x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x7xf32> -> tensor<?x2x3x7xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %three = arith.constant 3 : index
      %four = arith.constant 4 : index
      %none = arith.constant 0xFF800000 : f32
      %key = arith.cmpi eq, %j, %three : index
      %head = arith.cmpi eq, %h, %four : index
      %falls = arith.ori %key, %head : i1
      %t = arith.select %falls, %none, %s : f32
      attn.yield %t : f32
    } mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %one = arith.constant 1 : index
      %five = arith.constant 5 : index
      %key = arith.cmpi ne, %j, %one : index
      %head = arith.cmpi ne, %h, %five : index
      %keep = arith.andi %key, %head : i1
      attn.yield %keep : i1
    }
  return %o, %lse, %new : tensor<?x2x3x7xf32>, tensor<?x2x3xf32>, tensor<?x3x3x13xf32>
}
// The weights of three of six heads, in one layer of three; key 1 is masked.
func.func @weights(%w: tensor<?x3x3x13xf32> {attn.name = "w"}, %layer: index {attn.name = "layer"}, %q: tensor<?x2x3x5xf32> {attn.name = "q"},
                   %k: tensor<?x2x5xf32> {attn.name = "k"}, %qb: tensor<?xi32> {attn.name = "q_begin"}, %kb: tensor<?xi32> {attn.name = "kv_begin"})
    -> tensor<?x3x3x13xf32> {
  %scale = arith.constant 0.5 : f32
  %o, %0 = attn.attention %q, %k, %k, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) weights(%w[%layer] heads [0, 4, 5] : tensor<?x3x3x13xf32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x2x3x5xf32>, tensor<?x2x5xf32>, tensor<?x2x5xf32> -> tensor<?x2x3x5xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %one = arith.constant 1 : index
      %keep = arith.cmpi ne, %j, %one : index
      attn.yield %keep : i1
    }
  return %0 : tensor<?x3x3x13xf32>
}
// Lengths of sequences that share keys, a result of one sequence, and an additive vector that is short.
func.func @lengths(%q: tensor<?x1x1x5xf32> {attn.name = "q"}, %k: tensor<?x1x5xf32> {attn.name = "k"}, %v: tensor<?x1x7xf32> {attn.name = "v"},
                   %kb: tensor<?xi32> {attn.name = "kv_begin"}, %kl: tensor<?xi32> {attn.name = "kv_length"}, %qb: tensor<?xi32> {attn.name = "q_begin"}) -> tensor<?x1x1x7xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) kv_length(%kl : tensor<?xi32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x1x1x5xf32>, tensor<?x1x5xf32>, tensor<?x1x7xf32> -> tensor<?x1x1x7xf32>
  return %0 : tensor<?x1x1x7xf32>
}
func.func @one_result(%q: tensor<?x1x1x5xf32> {attn.name = "q"}, %kl: tensor<?xi32> {attn.name = "kv_length"}, %k: tensor<?x1x5xf32> {attn.name = "k"}) -> tensor<?x1x1x5xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %k, %scale kv_length(%kl : tensor<?xi32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x1x1x5xf32>, tensor<?x1x5xf32>, tensor<?x1x5xf32> -> tensor<?x1x1x5xf32>
  return %0 : tensor<?x1x1x5xf32>
}
func.func @short_vector(%q: tensor<?x1x1x32xf32> {attn.name = "q"}, %w: tensor<20xf32> {attn.name = "vector"}, %k: tensor<?x1x32xf32> {attn.name = "k"}) -> tensor<?x1x1x32xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %k, %scale additive(%w : tensor<20xf32>) maps [#qp, #kp, #vp, #op]
    : tensor<?x1x1x32xf32>, tensor<?x1x32xf32>, tensor<?x1x32xf32> -> tensor<?x1x1x32xf32>
  return %0 : tensor<?x1x1x32xf32>
}
func.func @table(%q: tensor<?x1x1x8xf32> {attn.name = "q"}, %k: tensor<?x1x8xf32> {attn.name = "k"}, %t: tensor<?x?xf32> {attn.name = "table"}) -> tensor<?x1x1x8xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = attn.attention %q, %k, %k, %scale extras(%t : tensor<?x?xf32>) maps [#qp, #kp, #vp, #op, affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>]
    : tensor<?x1x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32> -> tensor<?x1x1x8xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %all: tensor<?x?xf32>):
      %x = attn.lookup %all[%i, %j] : tensor<?x?xf32> -> f32
      %y = arith.addf %s, %x : f32
      attn.yield %y : f32
    }
  return %0 : tensor<?x1x1x8xf32>
}
func.func @table_of_state(%q: tensor<5x8xf32> {attn.name = "q"}, %k: tensor<?x8xf32> {attn.name = "k"}, %t: tensor<?xf32> {attn.name = "table"},
                          %acc: tensor<5x8xf32> {attn.name = "acc"}, %max: tensor<5xf32> {attn.name = "max"}) -> tensor<5x8xf32> {
  %scale = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %0:3 = attn.attention_state %q, %k, %k, %scale at(%c0, %c0, %c0, %c0) extras(%t : tensor<?xf32>) maps [affine_map<(q, kv) -> ()>] init(%acc, %max, %max)
    : tensor<5x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<5x8xf32>, tensor<5xf32>, tensor<5xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %all: tensor<?xf32>):
      %x = attn.lookup %all[%j] : tensor<?xf32> -> f32
      attn.yield %x : f32
    }
  return %0#0 : tensor<5x8xf32>
}

func.func @pair(%q: tensor<?x2x3x?xf32> {attn.name = "q"}, %k: tensor<?x2x?xf32> {attn.name = "k"}, %v: tensor<?x2x4xf32> {attn.name = "v"},
                %q2: tensor<2x?x3x?xbf16> {attn.name = "q2"}, %k2: tensor<?x?xf32> {attn.name = "k2"}) -> tensor<?x2x3x4xf32> {
  %scale = arith.constant 0.4 : f32
  %0 = attn.attention %q, %k, %v, %scale second(%q2, %k2 : tensor<2x?x3x?xbf16>, tensor<?x?xf32>)
    maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>,
          affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q, g, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>]
    : tensor<?x2x3x?xf32>, tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x3x4xf32> score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %t = math.tanh %s : f32
    attn.yield %t : f32
  }
  return %0 : tensor<?x2x3x4xf32>
}
