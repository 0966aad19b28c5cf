// RUN: rapt-opt %s --attn-gpu-tile --canonicalize --split-input-file | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
#s_gpu = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>>

// The three query heads of a group are rows of one tile, of 21 queries. Keys behind the tile's last query are left out, and a block whose last key is not behind the first
// query needs no mask.
// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x3x64xbf16>, %[[K:.*]]: tensor<?x2x64xbf16>
// CHECK: scf.forall (%[[HEAD:.*]], %[[TILE:.*]]) in (2, %{{.*}})
// The last queries, which see the most keys, are in the first tiles.
// CHECK: %[[BEFORE:.*]] = arith.subi %{{.*}}, %[[TILE]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[BEFORE]], %c21 : index
// CHECK: %[[AT:.*]] = arith.minsi %[[FIRST]]
// CHECK-DAG: %[[ROWS:.*]] = tensor.extract_slice %[[Q]][%[[AT]], %[[HEAD]], 0, 0] [%{{.*}}, 1, 3, 64] [1, 1, 1, 1] : tensor<?x2x3x64xbf16> to tensor<?x3x64xbf16>
// CHECK-DAG: %[[KEYS:.*]] = tensor.extract_slice %[[K]][0, %[[HEAD]], 0] [%{{.*}}, 1, 64] [1, 1, 1] : tensor<?x2x64xbf16> to tensor<?x64xbf16>
// CHECK: attn_gpu.attention_tile %[[ROWS]], %[[KEYS]], %{{.*}} scale %{{.*}} tiles <rows = 64, keys = 64, warps = 4>
// CHECK-SAME: mask {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[COLUMN:.*]]: index):
// CHECK-NEXT: %[[NTH:.*]] = arith.divui %[[ROW]], %c3 : index
// CHECK-NEXT: %[[QUERY:.*]] = arith.addi %[[AT]], %[[NTH]] : index
// CHECK-NEXT: %[[KEEP:.*]] = arith.cmpi sle, %[[COLUMN]], %[[QUERY]] : index
// CHECK-NEXT: attn_gpu.yield %[[KEEP]] : i1
// CHECK-NEXT: } blocks {
// CHECK: %[[ALL:.*]] = arith.cmpi sle, %{{.*}}, %[[AT]] : index
// CHECK-NEXT: attn_gpu.yield %true, %[[ALL]] : i1, i1
func.func @causal(%q: tensor<?x2x3x64xbf16>, %k: tensor<?x2x64xbf16>, %scale: f32) -> tensor<?x2x3x64xbf16> {
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #s, attn_gpu.schedule = #s_gpu} : tensor<?x2x3x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?x2x3x64xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x2x3x64xbf16>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g, q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g, q, dv)>
#bias = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
#s_gpu = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>>

// Heads before queries are in tiles of their own. The score region reads an element of the bias, whose indices stay within it; log-sum-exp is a second result.
// CHECK-LABEL: func.func @heads_first
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 3, %{{.*}})
// CHECK: %[[BIAS:.*]] = tensor.extract_slice %{{.*}} : tensor<?x?xf32> to tensor<?x?xf32>
// CHECK: attn_gpu.attention_tile {{.*}} outs(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?xf32>)
// CHECK-SAME: score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[ROW:.*]]: index, %[[COLUMN:.*]]: index):
// CHECK: arith.index_cast %[[ROW]] : index to i32
// CHECK: arith.index_cast %[[COLUMN]] : index to i32
// CHECK: %[[X:.*]] = tensor.extract %[[BIAS]]
// CHECK: arith.addf %[[S]], %[[X]] : f32
func.func @heads_first(%q: tensor<2x3x?x64xbf16>, %k: tensor<?x2x64xbf16>, %bias: tensor<?x?xf32>, %scale: f32) -> (tensor<2x3x?x64xbf16>, tensor<2x3x?xf32>) {
  %o, %lse = attn.attention %q, %k, %k, %scale extras(%bias : tensor<?x?xf32>) log_sum_exp maps [#q, #k, #v, #o, #bias] {attn.schedule = #s, attn_gpu.schedule = #s_gpu}
      : tensor<2x3x?x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<2x3x?x64xbf16> score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):
    %y = arith.addf %x, %e : f32
    attn.yield %y : f32
  }
  return %o, %lse : tensor<2x3x?x64xbf16>, tensor<2x3x?xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
#s_gpu = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>>

// Keys and values of a cache are read by the numbers of their blocks.
// CHECK-LABEL: func.func @cached
// CHECK-SAME: %[[POOL:.*]]: tensor<?x6x2x2x32x64xbf16>, %[[TABLE:.*]]: tensor<?x?xi32>
// CHECK-DAG: %[[KEYS:.*]] = tensor.extract_slice %[[POOL]][0, %{{.*}}, %{{.*}}, 0, 0, 0] [%{{.*}}, 1, 1, 1, 32, 64] {{.*}} to tensor<?x32x64xbf16>
// CHECK-DAG: %[[VALUES:.*]] = tensor.extract_slice %[[POOL]][0, %{{.*}}, %{{.*}}, 1, 0, 0] [%{{.*}}, 1, 1, 1, 32, 64] {{.*}} to tensor<?x32x64xbf16>
// CHECK: %[[NUMBERS:.*]] = tensor.extract_slice %[[TABLE]][%{{.*}}, 0] [1, %{{.*}}] [1, 1] : tensor<?x?xi32> to tensor<?xi32>
// CHECK: attn_gpu.attention_tile %{{.*}}, %[[KEYS]], %[[VALUES]] scale %{{.*}} table(%[[NUMBERS]], %{{.*}}, %{{.*}} : tensor<?xi32>)
func.func @cached(%pool: tensor<?x6x2x2x32x64xbf16>, %table: tensor<?x?xi32>, %layer: index, %q: tensor<?x2x64xbf16>, %begin: tensor<?xi32>, %offset: tensor<?xi32>, %scale: f32) -> tensor<?x2x64xbf16> {
  %k, %v = attn.kv_view %pool[%layer], %table {layout = #attn.cache_rows<positions = 32, keys = 64, values = 64>}
      : tensor<?x6x2x2x32x64xbf16>, tensor<?x?xi32> -> tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>
  %o = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) q_offset(%offset : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #s, attn_gpu.schedule = #s_gpu}
      : tensor<?x2x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16> -> tensor<?x2x64xbf16>
  return %o : tensor<?x2x64xbf16>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// An op without such a schedule stays.
// CHECK-LABEL: func.func @other
// CHECK: attn.attention
// CHECK-NOT: attn_gpu
func.func @other(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xf32> {
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#queries = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q)>
#keys = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>
#both = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
#s_gpu = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>>

// A task ahead finds the bounds of the documents of each block of keys, the complement of the largest beside the least. Those of a tile's queries are found once: a block of others is dropped.
// An array of queries and keys has none.
// CHECK-LABEL: func.func @documents
// CHECK: %[[BOUNDS:.*]] = scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2) {{.*}} -> (tensor<?x2xi64>)
// CHECK: arith.minsi %{{.*}} : i64
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = attn_gpu.range
// CHECK-NOT: attn_gpu.range
// CHECK: attn_gpu.attention_tile
// CHECK: } blocks {
// CHECK-COUNT-4: tensor.extract %[[BOUNDS]]
// CHECK: %[[LARGEST:.*]] = arith.xori %{{.*}}, %c-1_i64 : i64
// CHECK: %[[LAST:.*]] = arith.index_cast %[[LARGEST]]
// CHECK: arith.cmpi sle, %[[LOW]], %[[LAST]]
// CHECK: return
func.func @documents(%q: tensor<?x2x64xbf16>, %d: tensor<?xi32>, %m: tensor<?x?xi1>, %scale: f32) -> tensor<?x2x64xbf16> {
  %o = attn.attention %q, %q, %q, %scale extras(%d, %d, %m : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi1>) maps [#q, #k, #v, #o, #queries, #keys, #both] {attn.schedule = #s, attn_gpu.schedule = #s_gpu}
      : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %x: i32, %y: i32, %z: i1):
    %same = arith.cmpi eq, %x, %y : i32
    %keep = arith.andi %same, %z : i1
    attn.yield %keep : i1
  }
  return %o : tensor<?x2x64xbf16>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
#s_gpu = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = 100, least_keys = 256>

// Where the two tiles leave thread blocks idle, each has parts of the keys, of whole blocks. Their results, largest scores and sums are f32; the sink counts once, where they are combined.
// CHECK-LABEL: func.func @decode
// CHECK: %[[PARTS:.*]] = arith.minsi %{{.*}}, %c50{{.*}} : index
// CHECK: %[[SPLITS:.*]] = arith.select %{{.*}}, %[[PARTS]], %c0 : index
// CHECK: scf.if
// CHECK: scf.forall (%[[HEAD:.*]], %[[SPLIT:.*]]) in (2, %[[SPLITS]]) {{.*}} -> (tensor<?x1x2x64xf32>, tensor<?x1x2xf32>, tensor<?x1x2xf32>)
// CHECK: attn_gpu.attention_tile
// CHECK-NOT: sink
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<1x64xf32>, tensor<1xf32>)
// CHECK: scf.forall (%[[H:.*]], %[[CHANNEL:.*]]) in (2, 64)
// CHECK: tensor.extract %{{.*}}[%[[H]]] : tensor<2xf32>
// CHECK: scf.for
// CHECK: arith.maxnumf
// CHECK: scf.for
// CHECK: math.exp
// CHECK: } else {
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK: attn_gpu.attention_tile {{.*}} sink(
func.func @decode(%q: tensor<1x2x64xbf16>, %k: tensor<?x2x64xbf16>, %sink: tensor<2xf32>, %scale: f32) -> tensor<1x2x64xbf16> {
  %o = attn.attention %q, %k, %k, %scale sink(%sink : tensor<2xf32>) maps [#q, #k, #v, #o] {attn.schedule = #s, attn_gpu.schedule = #s_gpu} : tensor<1x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<1x2x64xbf16>
  return %o : tensor<1x2x64xbf16>
}
