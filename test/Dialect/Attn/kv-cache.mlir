// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

!cache = !attn.kv_cache<2 x 4 x 16, block = 64, f32>

// CHECK-LABEL: @append
func.func @append(%cache: !cache, %layer: index, %k: tensor<?x4x16xf32>, %v: tensor<?x4x16xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>) -> !cache {
  // CHECK: attn.kv_append %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} rows(%{{.*}}, %{{.*}}, %{{.*}}) : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %0 = attn.kv_append %cache[%layer], %k, %v rows(%begin, %past, %table)
    : !cache, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : !cache
}

// CHECK-LABEL: @view
func.func @view(%cache: !attn.kv_cache<2 x 4 x 16, block = 32, bf16>, %layer: index, %table: tensor<?x?xi32>)
    -> (tensor<?x?x4x16xbf16>, tensor<?x?x4x16xbf16>) {
  // CHECK: %{{.*}}, %{{.*}} = attn.kv_view %{{.*}}[%{{.*}}], %{{.*}} : !attn.kv_cache<2 x 4 x 16, block = 32, bf16>, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>
  %k, %v = attn.kv_view %cache[%layer], %table : !attn.kv_cache<2 x 4 x 16, block = 32, bf16>, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>
  return %k, %v : tensor<?x?x4x16xbf16>, tensor<?x?x4x16xbf16>
}

// A target's own form of the cache is a tensor.
// CHECK-LABEL: @physical
func.func @physical(%cache: tensor<?x2x2x4x1024xf32>, %layer: index, %k: tensor<?x4x16xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>,
                    %table: tensor<?x?xi32>) -> tensor<?x2x2x4x1024xf32> {
  // CHECK: attn.kv_append %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} rows({{.*}}) : tensor<?x2x2x4x1024xf32>
  %0 = attn.kv_append %cache[%layer], %k, %k rows(%begin, %past, %table)
    : tensor<?x2x2x4x1024xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : tensor<?x2x2x4x1024xf32>
}
