// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// CHECK-DAG: #[[$TILES:.*]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-DAG: #[[$TILE:.*]] = affine_map<(d0) -> (8, d0)>
// CHECK-DAG: #[[$BLOCK:.*]] = affine_map<(d0)[s0] -> (-d0 + s0, 24)>
// CHECK-DAG: #[[$TRANSPOSED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$SECOND:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$FIRST:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$CHANNEL:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>

// A task has 16 queries of a head. A block's keys are transposed, so that the innermost loop of the scores goes along memory. Its loop
// over blocks of 64 keys ends behind the last key that a query of the tile may see, and carries sums of values, maximum and sum. Whether a
// score counts is a tensor of its own: it is never made -infinity, and what does not count is neither in the maximum nor, as -1, in the
// sums. The result is written to its destination by one division.
// CHECK-LABEL: @causal
// CHECK-SAME: %[[Q:.*]]: tensor<?x3x20xf32>, %[[K:.*]]: tensor<?x3x20xf32>, %[[V:.*]]: tensor<?x3x24xf32>, %[[SCALE:.*]]: f32
func.func @causal(%q: tensor<?x3x20xf32>, %k: tensor<?x3x20xf32>, %v: tensor<?x3x24xf32>, %scale: f32) -> tensor<?x3x24xf32> {
  // CHECK-NOT: 0xFF800000
  // CHECK: %[[COUNT:.*]] = affine.apply #[[$TILES]]
  // CHECK: scf.forall (%{{.*}}, %[[HEAD:.*]], %{{.*}}, %[[NTH:.*]]) in (1, 3, 1, %[[COUNT]]) shared_outs(%[[OUT:.*]] = %{{.*}})
  // CHECK: %[[SIZE:.*]] = affine.min #[[$TILE]]
  // CHECK: %[[KEYS:.*]] = tensor.dim %[[K]]
  // CHECK: %[[BEHIND:.*]] = arith.addi %{{.*}}, %[[SIZE]]
  // CHECK: %[[BOUND:.*]] = arith.addi %[[BEHIND]], %c0
  // CHECK: %[[SEEN:.*]] = arith.minsi %[[KEYS]], %[[BOUND]]
  // CHECK: %[[NOT_NEGATIVE:.*]] = arith.maxsi %{{.*}}, %[[SEEN]]
  // CHECK: %[[END:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NOT_NEGATIVE]]
  // CHECK: %[[RANGE:.*]] = arith.subi %[[END]], %{{.*}}
  // CHECK: %[[SEEN_KEYS:.*]] = arith.maxsi %[[RANGE]], %c0
  // CHECK: %[[QUERY:.*]] = tensor.extract_slice %[[Q]][%{{.*}}, %[[HEAD]], 0] [%[[SIZE]], 1, 20] [1, 1, 1] : tensor<?x3x20xf32> to tensor<?x20xf32>
  // CHECK: arith.constant -3.40282347E+38
  // CHECK: scf.for %[[BEGIN:.*]] = %{{.*}} to %[[SEEN_KEYS]] step %c24 iter_args(%[[SUMS:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<?x24xf32>, tensor<?xf32>, tensor<?xf32>)
  // CHECK: affine.min #[[$BLOCK]](%[[BEGIN]])[%[[SEEN_KEYS]]]
  // CHECK: %[[KEY:.*]] = tensor.extract_slice %[[K]]
  // CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[V]]
  // CHECK: %[[TRANSPOSED:.*]] = linalg.generic {indexing_maps = [#[[$TRANSPOSED]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[KEY]] : {{.*}} outs(%{{.*}} : tensor<20x?xf32>)
  // CHECK: %[[SCORES:.*]] = linalg.generic {indexing_maps = [#[[$FIRST]], #[[$SECOND]], #[[$CHANNEL]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[QUERY]], %[[TRANSPOSED]] :
  // CHECK: %[[MASKED:.*]]:2 = linalg.generic {{.*}} ins(%[[SCORES]] : {{.*}} outs(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?x?xi8>)
  // CHECK: arith.mulf %{{.*}}, %[[SCALE]]
  // CHECK: %[[KEPT:.*]] = arith.cmpi sle
  // CHECK: arith.extui %[[KEPT]] : i1 to i8
  // CHECK: %[[LARGEST:.*]] = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$BOTH]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[MASKED]]#0, %[[MASKED]]#1 :
  // CHECK: ^bb0(%[[SCORE:.*]]: f32, %{{.*}}: i8, %[[MOST:.*]]: f32):
  // CHECK: %[[LOWEST:.*]] = arith.constant -3.4
  // CHECK: %[[COUNTED:.*]] = arith.select %{{.*}}, %[[SCORE]], %[[LOWEST]]
  // CHECK: arith.maxnumf %[[MOST]], %[[COUNTED]]
  // CHECK: %[[NEWMAX:.*]] = linalg.generic {{.*}} ins(%[[LARGEST]], %[[MAX]] :
  // CHECK: %[[DECAY:.*]] = linalg.generic {{.*}} ins(%[[MAX]], %[[NEWMAX]] :
  // CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[MASKED]]#0, %[[MASKED]]#1, %[[NEWMAX]] :
  // CHECK: %[[E:.*]] = math.exp
  // CHECK: %[[OUT_OF:.*]] = arith.constant -1.0
  // CHECK: arith.select %{{.*}}, %[[E]], %[[OUT_OF]]
  // CHECK: linalg.generic {{.*}} ins(%[[P]] :
  // CHECK: arith.cmpf olt
  // CHECK: %[[NEWSUM:.*]] = linalg.generic {{.*}} outs(%[[SUM]] :
  // CHECK: %[[MOVED:.*]] = linalg.generic {{.*}} ins(%[[LARGEST]] : {{.*}} outs(%[[MAX]] :
  // CHECK: linalg.generic {indexing_maps = [#[[$FIRST]], #[[$SECOND]], #[[$CHANNEL]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[P]], %[[VALUE]] :
  // CHECK: %[[DROPPED:.*]] = arith.cmpf olt
  // CHECK: arith.select %[[DROPPED]]
  // CHECK: %[[NEWSUMS:.*]] = linalg.generic {{.*}} outs(%[[SUMS]] :
  // CHECK: scf.yield %[[NEWSUMS]], %[[MOVED]], %[[NEWSUM]]
  // CHECK: %[[EMPTY:.*]] = arith.cmpf oeq
  // CHECK: %[[MEAN:.*]] = arith.divf
  // CHECK: arith.select %[[EMPTY]], %{{.*}}, %[[MEAN]]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%{{.*}}, %[[HEAD]], 0] [%[[SIZE]], 1, 24] [1, 1, 1]
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x3x20xf32>, tensor<?x3x20xf32>, tensor<?x3x24xf32> -> tensor<?x3x24xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x3x24xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: without a mask all keys are visited, and no score is told apart.
// CHECK-LABEL: @unmasked
// CHECK-SAME: %{{.*}}: tensor<?x3x20xf32>, %[[K:.*]]: tensor<?x3x20xf32>
func.func @unmasked(%q: tensor<?x3x20xf32>, %k: tensor<?x3x20xf32>, %scale: f32) -> tensor<?x3x20xf32> {
  // CHECK: %[[KEYS:.*]] = tensor.dim %[[K]]
  // CHECK-NOT: arith.minsi
  // CHECK: %[[END:.*]] = arith.select %{{.*}}, %{{.*}}, %[[KEYS]]
  // CHECK: %[[RANGE:.*]] = arith.subi %[[END]], %{{.*}}
  // CHECK: %[[COUNT:.*]] = arith.maxsi %[[RANGE]], %{{.*}}
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]] step %c24
  // CHECK-NOT: i8
  // CHECK: scf.forall.in_parallel
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x3x20xf32>, tensor<?x3x20xf32>, tensor<?x3x20xf32> -> tensor<?x3x20xf32>
  return %o : tensor<?x3x20xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A window has a lower bound as well: keys before the first that a query of the tile may see are not visited.
// CHECK-LABEL: @window
func.func @window(%q: tensor<?x1x20xf32>, %k: tensor<?x1x20xf32>, %scale: f32) -> tensor<?x1x20xf32> {
  // CHECK: %[[BEFORE:.*]] = arith.constant -99 : index
  // CHECK: %[[LOWER:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
  // CHECK: %[[FROM:.*]] = arith.maxsi %{{.*}}, %[[LOWER]]
  // CHECK: %[[RANGE:.*]] = arith.subi %{{.*}}, %[[FROM]]
  // CHECK: %[[COUNT:.*]] = arith.maxsi %[[RANGE]], %{{.*}}
  // CHECK: scf.for %[[NTH:.*]] = %{{.*}} to %[[COUNT]] step %c24
  // CHECK: arith.addi %[[FROM]], %[[NTH]]
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x1x20xf32>, tensor<?x1x20xf32>, tensor<?x1x20xf32> -> tensor<?x1x20xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c100 = arith.constant 100 : index
      %start = arith.subi %i, %c100 : index
      %below = arith.cmpi sle, %j, %i : index
      %inside = arith.cmpi sgt, %j, %start : index
      %keep = arith.andi %below, %inside : i1
      attn.yield %keep : i1
    }
  return %o : tensor<?x1x20xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#bias = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g)>

// Packed sequences of grouped queries: the grid is over sequences, heads and groups; rows behind the last sequence are 0. The score's
// region gets the element of its extra operand at the tile's head and group.
// CHECK-LABEL: @packed
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x3x20xf32>, %{{.*}}: tensor<?x2x20xf32>, %{{.*}}: f32, %[[BEGIN:.*]]: tensor<?xi32>, %[[BIAS:.*]]: tensor<2x3xf32>
func.func @packed(%q: tensor<?x2x3x20xf32>, %k: tensor<?x2x20xf32>, %scale: f32, %begin: tensor<?xi32>, %bias: tensor<2x3xf32>) -> tensor<?x2x3x20xf32> {
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<?x2x3x20xf32>
  // CHECK: scf.forall (%[[ROW:.*]], %[[HEAD:.*]], %[[GROUP:.*]], %{{.*}}) in (%{{.*}}, 2, 3, %{{.*}}) shared_outs(%{{.*}} = %[[ZEROS]])
  // CHECK-COUNT-2: tensor.extract %[[BEGIN]]
  // CHECK: tensor.extract_slice %[[Q]][%{{.*}}, %[[HEAD]], %[[GROUP]], 0]
  // CHECK: %[[ONE:.*]] = tensor.extract_slice %[[BIAS]][%[[HEAD]], %[[GROUP]]] [1, 1] [1, 1]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[ONE]] : tensor<?x?xf32>, tensor<1x1xf32>)
  // CHECK: ^bb0(%[[SCORE:.*]]: f32, %[[ADDED:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[SCORE]]
  // CHECK: arith.addf %[[SCALED]], %[[ADDED]]
  %o = attn.attention %q, %k, %k, %scale q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) extras(%bias : tensor<2x3xf32>) maps [#q, #k, #v, #o, #bias] {attn.schedule = #tiles}
    : tensor<?x2x3x20xf32>, tensor<?x2x20xf32>, tensor<?x2x20xf32> -> tensor<?x2x3x20xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):
      %0 = arith.addf %s, %e : f32
      attn.yield %0 : f32
    }
  return %o : tensor<?x2x3x20xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: keys whose number of channels is not static are read as they lie.
// CHECK-LABEL: @dynamic
func.func @dynamic(%q: tensor<?x3x?xf32>, %k: tensor<?x3x?xf32>, %v: tensor<?x3x20xf32>, %scale: f32) -> tensor<?x3x20xf32> {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x3x?xf32>, tensor<?x3x?xf32>, tensor<?x3x20xf32> -> tensor<?x3x20xf32>
  return %o : tensor<?x3x20xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, dqk, kv)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Transposed keys are copied a KV block at a time: nothing is as large as all keys.
// CHECK-LABEL: @transposed
// CHECK-SAME: %{{.*}}: tensor<?x3x20xf32>, %[[K:.*]]: tensor<3x20x?xf32>
func.func @transposed(%q: tensor<?x3x20xf32>, %k: tensor<3x20x?xf32>, %v: tensor<?x3x24xf32>, %scale: f32) -> tensor<?x3x24xf32> {
  // CHECK: scf.forall
  // CHECK-NOT: tensor.extract_slice %[[K]]
  // CHECK: scf.for
  // CHECK: %[[SIZE:.*]] = affine.min #[[$BLOCK]]
  // CHECK: %[[KEY:.*]] = tensor.extract_slice %[[K]][{{.*}}] [1, 20, %[[SIZE]]] [1, 1, 1] : tensor<3x20x?xf32> to tensor<20x?xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[$TRANSPOSED]], #[[$BOTH]]], {{.*}} ins(%[[KEY]] :
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #tiles}
    : tensor<?x3x20xf32>, tensor<3x20x?xf32>, tensor<?x3x24xf32> -> tensor<?x3x24xf32>
  return %o : tensor<?x3x24xf32>
}

// -----

// The group is a unit dim behind the channels: it is joined with them, since a slice of lower rank would leave open which unit dim goes.
// A single tile of queries has a static extent.
// CHECK-LABEL: @heads_last
func.func @heads_last(%q: tensor<1x2x2xf32>, %k: tensor<2x2xf32>, %v: tensor<2x1xf32>) -> tensor<1x2x1xf32> {
  %scale = arith.constant 1.0 : f32
  // CHECK: %[[SLICE:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}, 0, %{{.*}}] [1, 2, 1] [1, 1, 1] : tensor<1x2x2xf32> to tensor<1x2x1xf32>
  // CHECK: tensor.collapse_shape %[[SLICE]] {{\[\[}}0], [1, 2]] : tensor<1x2x1xf32> into tensor<1x2xf32>
  %o = attn.attention %q, %k, %v, %scale
    maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk, g)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, g, dv)>] {attn.schedule = #attn.attention_tiles<keys = 24, queries = 8>}
    : tensor<1x2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32> -> tensor<1x2x1xf32>
  return %o : tensor<1x2x1xf32>
}
