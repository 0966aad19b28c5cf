// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn_cpu.attention_schedule<heads = 3, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 128, queries = [6, 1], rest_rows = 5, split_keys = 128, split_queries = 1, splits = 3, task_keys = 256, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// The general grid converts the f16 cache to f32. Sequences of one query have split-KV grids: in one the three heads of a group read a split in place, the
// other combines the states.
// CHECK-LABEL: @pairs
func.func @pairs(%cache: tensor<?x2x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x64xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %scale: f32) -> tensor<?x4x3x64xf32> {
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 3, %{{.*}})
  // CHECK: arith.shli {{.*}} : vector<32xi32>
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<{{[0-9]+}}x64xf32>, tensor<{{[24]}}x64x32xf32>
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1, %{{.*}}) shared_outs(%{{.*}}, %{{.*}}, %{{.*}}) -> (tensor<?x4x1x?x3x64xf32>, tensor<?x4x1x?x3xf32>, tensor<?x4x1x?x3xf32>)
  // CHECK-NOT: arith.shli
  // CHECK: attn_cpu.attention_state {{.*}}, heads = 3 : i64} : tensor<3x64xf32>, tensor<2x32x64xbf16>, tensor<2x32x64xbf16>
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1)
  // CHECK: attn_cpu.attention_merge {{.*}} : tensor<?x1x64xf32>
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x4x3x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x4x3x64xf32>
  return %o : tensor<?x4x3x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<heads = 1, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 128, queries = [6, 1], rest_rows = 5, split_keys = 128, split_queries = 1, splits = 3, task_keys = 256, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// A score region that depends on the head needs a tile per head; an int8 cache is converted to f32 with its scales.
// CHECK-LABEL: @codes
func.func @codes(%cache: tensor<?x2x4x2x136x32xi8>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x64xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %scale: f32) -> tensor<?x4x3x64xf32> {
  // CHECK: scf.forall {{.*}} in (%{{.*}}, 4, 3, %{{.*}}) shared_outs
  // CHECK: arith.sitofp {{.*}} : vector<32xi8> to vector<32xf32>
  // CHECK: attn_cpu.attention_state
  // CHECK-NOT: heads
  // CHECK: scf.forall {{.*}} in (%{{.*}}, 4, 3)
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x136x32xi8>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x4x3x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x3x64xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %0 = arith.index_cast %h : index to i32
      %1 = arith.sitofp %0 : i32 to f32
      %2 = arith.mulf %s, %1 : f32
      attn.yield %2 : f32
    }
  return %o : tensor<?x4x3x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<heads = 3, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], split_keys = 64, split_queries = 4, split_tasks = 8, splits = 3, task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// Without a cache at most 4 queries have splits, whose tasks pack the keys that they read. The rows of a tile are up to two queries, each in three heads.
// CHECK-LABEL: @plain
func.func @plain(%q: tensor<?x4x3x64xf32>, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>, %scale: f32) -> tensor<?x4x3x64xf32> {
  // CHECK: %[[SPLIT:.*]] = arith.cmpi ule, %{{.*}}, %c4
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1, %{{.*}}) shared_outs(%{{.*}}, %{{.*}}, %{{.*}}) -> (tensor<?x4x1x?x?x64xf32>, tensor<?x4x1x?x?xf32>, tensor<?x4x1x?x?xf32>)
  // CHECK: tensor.empty() : tensor<12x64xf32>
  // CHECK: vector.transfer_read %arg1
  // CHECK: vector.transfer_read %arg2
  // CHECK: tensor.empty() : tensor<6x64xf32>
  // CHECK: attn_cpu.attention_state {{.*}}heads = 3 : i64} : tensor<?x64xf32>
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1)
  // CHECK: attn_cpu.attention_merge {{.*}} : tensor<?x1x64xf32>
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x4x3x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x3x64xf32>
  return %o : tensor<?x4x3x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<heads = 1, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], split_keys = 64, split_queries = 4, split_tasks = 8, splits = 3, task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#bq = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#bo = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>

// A static number of queries decides when compiled: 3 have splits alone, and of 5 the keys are packed first. So are keys that several sequences share.
// CHECK-LABEL: @always
func.func @always(%q: tensor<3x4x64xf32>, %k: tensor<?x4x64xf32>) -> tensor<3x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: scf.forall {{.*}} -> (tensor<1x4x1x?x3x64xf32>,
  // CHECK: scf.forall {{.*}} -> (tensor<3x4x64xf32>)
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<3x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<3x4x64xf32>
  return %o : tensor<3x4x64xf32>
}
// CHECK-LABEL: @never
func.func @never(%q: tensor<5x4x64xf32>, %k: tensor<?x4x64xf32>) -> tensor<5x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: scf.forall {{.*}} -> (tensor<4x?x64x32xf32>,
  // CHECK: scf.forall {{.*}} -> (tensor<5x4x64xf32>)
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<5x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<5x4x64xf32>
  return %o : tensor<5x4x64xf32>
}
// CHECK-LABEL: @shared
func.func @shared(%q: tensor<2x3x4x64xf32>, %k: tensor<?x4x64xf32>) -> tensor<2x3x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: scf.forall {{.*}} -> (tensor<4x?x64x32xf32>,
  // CHECK-NOT: attn_cpu.attention_merge
  // CHECK: return
  %o = attn.attention %q, %k, %k, %scale maps [#bq, #k, #v, #bo] {attn.schedule = #attention}
    : tensor<2x3x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<2x3x4x64xf32>
  return %o : tensor<2x3x4x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<heads = 1, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], split_keys = 64, split_queries = 12, split_tasks = 8, splits = 3, task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>

// One of two paths runs: many queries read keys that a grid of its own packs. The other path has memory for no sequence. More sequences have fewer
// splits, at least one. Chunks of keys are longer for full tiles.
// CHECK-LABEL: @few_or_many
func.func @few_or_many(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) -> tensor<?x?x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: %[[FEW:.*]] = arith.cmpi ule, %{{.*}}, %c12
  // CHECK: %[[SPLIT:.*]] = arith.select %[[FEW]], %{{.*}}, %c0
  // CHECK: %[[REST:.*]] = arith.select %[[FEW]], %c0{{.*}}, %{{.*}}
  // CHECK: scf.forall
  // CHECK: %[[MANY:.*]] = scf.forall {{.*}} in (%[[REST]],
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<6x64xf32>
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<?x64xf32>
  // CHECK: scf.forall.in_parallel
  // CHECK: arith.divui %c8{{.*}}, %{{.*}}
  // CHECK: affine.max
  // CHECK: tensor.empty(%[[SPLIT]], %{{.*}}, %{{.*}}) : tensor<?x4x1x?x?x64xf32>
  // CHECK: scf.forall {{.*}} in (%[[SPLIT]],
  // CHECK: arith.select %{{.*}}, %c4{{.*}}, %c2
  // CHECK: tensor.empty() : tensor<4x64x32xf32>
  // CHECK: tensor.empty() : tensor<2x128x32xf32>
  // CHECK: vector.transfer_read %arg1
  // CHECK: vector.transfer_read %arg2
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<?x64xf32>
  // CHECK-NOT: attn_cpu.attention_state
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[MANY]])
  // CHECK: attn_cpu.attention_merge
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return %o : tensor<?x?x4x64xf32>
}
