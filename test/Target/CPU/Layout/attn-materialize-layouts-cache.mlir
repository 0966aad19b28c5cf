// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file | FileCheck %s

// A cache of segments is a tensor of bytes: keys of segment 0, their values, and segment 1, whose keys and values are equal and one pool.
// Loops carry the parts; ops name the pool of their segment, and that of values where it is apart.
!cache = !attn.kv_cache<[2 x 4 x (40 x bf16, 32 x f32), 3 x 2 x 16 x i8], block = 64>
// 2 layers x 4 heads x (64 x 64 bf16 + 32 x 64 f32), 3 x 2 x 2 x (32 x 64 codes and 64 scales)
module attributes {attn.model = {family = "any"}} {
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[CACHE:[a-z0-9]+]]: tensor<?x158720xi8> {attn.cache = !attn.kv_cache<[2 x 4 x (40 x bf16, 32 x f32), 3 x 2 x 16 x i8], block = 64>
func.func @step(%cache: !cache {attn.name = "cache", attn.dims = ["blocks"]}, %k: tensor<?x4x40xf32>, %v: tensor<?x4x32xf32>, %s: tensor<?x2x16xf32>,
                %begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> (!cache {attn.name = "cache"}) attributes {attn.entry} {
  // CHECK: %[[P:.*]]:3 = attn.cache_parts %[[CACHE]] at [0, 65536, 131072] : tensor<?x158720xi8> -> tensor<?x2x4x1x64x64xbf16>, tensor<?x2x4x1x64x32xf32>, tensor<?x3x2x2x72x32xi8>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[L:.*]]:3 = scf.for {{.*}} iter_args(%[[K:.*]] = %[[P]]#0, %[[V:.*]] = %[[P]]#1, %[[S:.*]] = %[[P]]#2)
  %0 = scf.for %i = %c0 to %c2 step %c1 iter_args(%c = %cache) -> (!cache) {
    // CHECK: %[[NK:.*]], %[[NV:.*]] = attn.kv_append %[[K]] values %[[V]][%{{.*}}], {{.*}} {attn.op = 5 : i64, layout = #attn_cpu.cache_panels<positions = 64, keys = 40, values = 32>} : tensor<?x2x4x1x64x64xbf16> values tensor<?x2x4x1x64x32xf32>, tensor<?x4x64xf32>, tensor<?x4x32xf32>
    %1 = attn.kv_append %c[%i], %k, %v rows(%begin, %past, %table) {attn.op = 5 : i64}
      : !cache, tensor<?x4x40xf32>, tensor<?x4x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    // CHECK: scf.yield %[[NK]], %[[NV]], %[[S]]
    scf.yield %1 : !cache
  }
  // CHECK: %[[NS:.*]] = attn.kv_append %[[L]]#2[%{{.*}}], {{.*}} {layout = #attn_cpu.cache_panels<positions = 64, keys = 16, values = 16>} : tensor<?x3x2x2x72x32xi8>, tensor<?x2x32xf32>
  %2 = attn.kv_append %0[%c2] segment 1, %s, %s rows(%begin, %past, %table)
    : !cache, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  // CHECK: attn.kv_view %[[L]]#0 values %[[L]]#1[%{{.*}}], %{{.*}} -> tensor<?x?x4x64xbf16>, tensor<?x?x4x32xf32>
  %keys, %values = attn.kv_view %2[%c1], %table : !cache, tensor<?x?xi32> -> tensor<?x?x4x40xbf16>, tensor<?x?x4x32xf32>
  // CHECK: %[[J:.*]] = attn.cache_join %[[L]]#0, %[[L]]#1, %[[NS]] into %[[CACHE]] at [0, 65536, 131072]
  // CHECK: return %[[J]]
  return %2 : !cache
}
}

// -----

// Near miss: a cache of one segment with keys as values is its pool.
// CHECK-LABEL: func.func @uniform(%{{.*}}: tensor<?x2x4x2x64x32xf32> {attn.cache = !attn.kv_cache<2 x 4 x 16, block = 64, f32>}
// CHECK-NOT: attn.cache_parts
func.func @uniform(%cache: !attn.kv_cache<[2 x 4 x 16 x f32], block = 64>) -> !attn.kv_cache<2 x 4 x 16, block = 64, f32> {
  return %cache : !attn.kv_cache<2 x 4 x 16, block = 64, f32>
}

// -----

// Panels are filled up where the positions of a block, or the channels of a head, do not fill them: 7 positions of 40 channels are 32 of 64.
// CHECK-LABEL: func.func @filled(%{{.*}}: tensor<?x2x4x2x64x32xf32>
func.func @filled(%cache: !attn.kv_cache<2 x 4 x 40, block = 7, f32>) -> !attn.kv_cache<2 x 4 x 40, block = 7, f32> {
  return %cache : !attn.kv_cache<2 x 4 x 40, block = 7, f32>
}
