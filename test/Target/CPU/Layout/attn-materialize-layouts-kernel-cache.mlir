// RUN: rapt-opt --attn-materialize-layouts --split-input-file %s | FileCheck %s

// A cache that a kernel writes is a pool of packed blocks, in its loop as in its results.
// CHECK-LABEL: @fill
// CHECK-SAME: %[[POOL:.*]]: tensor<?x2x1x2x64x32xf32>
// CHECK-SAME: -> (tensor<?x2x1x2x64x32xf32>
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[POOL]]) -> (tensor<?x2x1x2x64x32xf32>)
// CHECK: %[[NEW:.*]] = attn.kv_append %[[CARRIED]]
// CHECK-SAME: : tensor<?x2x1x2x64x32xf32>
// CHECK: scf.yield %[[NEW]] : tensor<?x2x1x2x64x32xf32>
// CHECK: return %[[LOOP]]
module {
  attn.dim @blocks min 0 max 64
  attn.dim @tokens min 0 max 64
  attn.dim @rows min 0 max 64
  attn.dim @most min 0 max 64
  func.func @fill(%cache: !attn.kv_cache<2 x 1 x 32, block = 64, f32> {attn.name = "cache", attn.dims = ["blocks"]}, %k: tensor<?x1x32xf32> {attn.name = "k", attn.dims = ["tokens"]},
                  %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %past: tensor<?xi32> {attn.name = "past", attn.dims = ["rows"]},
                  %table: tensor<?x?xi32> {attn.name = "table", attn.dims = ["rows", "most"]}) -> (!attn.kv_cache<2 x 1 x 32, block = 64, f32> {attn.name = "cache", attn.dims = ["blocks"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %all = scf.for %layer = %c0 to %c2 step %c1 iter_args(%c = %cache) -> !attn.kv_cache<2 x 1 x 32, block = 64, f32> {
      %new = attn.kv_append %c[%layer], %k, %k rows(%begin, %past, %table) : !attn.kv_cache<2 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
      scf.yield %new : !attn.kv_cache<2 x 1 x 32, block = 64, f32>
    }
    return %all : !attn.kv_cache<2 x 1 x 32, block = 64, f32>
  }
}

// -----

// Heads of 40 channels are padded to the 64 that the pool has of them.
// CHECK-LABEL: @narrow
// CHECK-SAME: %[[POOL:[a-z0-9]+]]: tensor<?x1x1x2x128x32xf32>{{.*}}, %[[K:[a-z0-9]+]]: tensor<?x1x40xf32>
// CHECK: %[[KEYS:.*]] = tensor.pad %[[K]] low[0, 0, 0] high[0, 0, 24]
// CHECK: %[[VALUES:.*]] = tensor.pad %[[K]] low[0, 0, 0] high[0, 0, 24]
// CHECK: attn.kv_append %[[POOL]][%{{.*}}], %[[KEYS]], %[[VALUES]]
module {
  attn.dim @blocks min 0 max 64
  attn.dim @tokens min 0 max 64
  attn.dim @rows min 0 max 64
  attn.dim @most min 0 max 64
  func.func @narrow(%cache: !attn.kv_cache<1 x 1 x 40, block = 64, f32> {attn.name = "cache", attn.dims = ["blocks"]}, %k: tensor<?x1x40xf32> {attn.name = "k", attn.dims = ["tokens"]},
                    %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %past: tensor<?xi32> {attn.name = "past", attn.dims = ["rows"]},
                    %table: tensor<?x?xi32> {attn.name = "table", attn.dims = ["rows", "most"]}) -> (!attn.kv_cache<1 x 1 x 40, block = 64, f32> {attn.name = "cache", attn.dims = ["blocks"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %new = attn.kv_append %cache[%c0], %k, %k rows(%begin, %past, %table) : !attn.kv_cache<1 x 1 x 40, block = 64, f32>, tensor<?x1x40xf32>, tensor<?x1x40xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    return %new : !attn.kv_cache<1 x 1 x 40, block = 64, f32>
  }
}
