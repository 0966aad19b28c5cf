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

// In a target's memory the cache is a tensor with a layout.
// CHECK-LABEL: @physical
func.func @physical(%cache: tensor<?x2x4x2x64x16xf32>, %layer: index, %k: tensor<?x4x16xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>,
                    %table: tensor<?x?xi32>) -> tensor<?x2x4x2x64x16xf32> {
  // CHECK: attn.kv_append %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} rows({{.*}}) {layout = #attn.cache_rows<positions = 64, keys = 16, values = 16>} : tensor<?x2x4x2x64x16xf32>
  %0 = attn.kv_append %cache[%layer], %k, %k rows(%begin, %past, %table) {layout = #attn.cache_rows<positions = 64, keys = 16, values = 16>}
    : tensor<?x2x4x2x64x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : tensor<?x2x4x2x64x16xf32>
}

// Segments of layers; a segment whose keys are as its values names them once, and the first segment has no number.
// CHECK-LABEL: @segments
// CHECK-SAME: !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 3 x 2 x 16 x i8], block = 64>
!segments = !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 3 x 2 x (16 x i8, 16 x i8)], block = 64>
func.func @segments(%cache: !segments, %layer: index, %k: tensor<?x4x16xf32>, %v: tensor<?x4x8xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> (tensor<?x?x4x16xbf16>, tensor<?x?x4x8xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) {
  // CHECK: attn.kv_append %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} rows({{.*}}) : !attn.kv_cache<{{.*}}>, tensor<?x4x16xf32>, tensor<?x4x8xf32>, tensor<?xi32>
  %0 = attn.kv_append %cache[%layer] segment 0, %k, %v rows(%t, %t, %table)
    : !segments, tensor<?x4x16xf32>, tensor<?x4x8xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  // CHECK: attn.kv_view %{{.*}}[%{{.*}}], %{{.*}} -> tensor<?x?x4x16xbf16>, tensor<?x?x4x8xf32>
  // CHECK: attn.kv_view %{{.*}}[%{{.*}}] segment 1, %{{.*}} -> tensor<?x?x2x16xf32>{{$}}
  %k0, %v0 = attn.kv_view %0[%layer], %table : !segments, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>, tensor<?x?x4x8xf32>
  %k1, %v1 = attn.kv_view %0[%layer] segment 1, %table : !segments, tensor<?x?xi32> -> tensor<?x?x2x16xf32>
  return %k0, %v0, %k1, %v1 : tensor<?x?x4x16xbf16>, tensor<?x?x4x8xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>
}

// One list of equal layers is the short form.
// CHECK-LABEL: @short
// CHECK-SAME: (!attn.kv_cache<2 x 4 x 16, block = 32, f16>)
func.func private @short(!attn.kv_cache<[2 x 4 x (16 x f16, 16 x f16)], block = 32>)

// Memory of a target, with that of values apart, and the parts of a cache.
// CHECK-LABEL: @parts
func.func @parts(%cache: tensor<?x512xi8>, %layer: index, %k: tensor<?x1x16xf32>, %v: tensor<?x1x8xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> tensor<?x512xi8> {
  // CHECK: attn.cache_parts %{{.*}} at [0, 256] : tensor<?x512xi8> -> tensor<?x1x1x1x8x16xbf16>, tensor<?x1x1x1x8x8xf32>
  %0:2 = attn.cache_parts %cache at [0, 256] : tensor<?x512xi8> -> tensor<?x1x1x1x8x16xbf16>, tensor<?x1x1x1x8x8xf32>
  // CHECK: %{{.*}}, %{{.*}} = attn.kv_append %{{.*}} values %{{.*}}[%{{.*}}], {{.*}} {layout = #attn.cache_rows<positions = 8, keys = 16, values = 8>} : tensor<?x1x1x1x8x16xbf16> values tensor<?x1x1x1x8x8xf32>, tensor<?x1x16xf32>
  %1, %2 = attn.kv_append %0#0 values %0#1[%layer], %k, %v rows(%t, %t, %table) {layout = #attn.cache_rows<positions = 8, keys = 16, values = 8>}
    : tensor<?x1x1x1x8x16xbf16> values tensor<?x1x1x1x8x8xf32>, tensor<?x1x16xf32>, tensor<?x1x8xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  // CHECK: attn.cache_join %{{.*}}, %{{.*}} into %{{.*}} at [0, 256] : tensor<?x1x1x1x8x16xbf16>, tensor<?x1x1x1x8x8xf32> into tensor<?x512xi8>
  %3 = attn.cache_join %1, %2 into %cache at [0, 256] : tensor<?x1x1x1x8x16xbf16>, tensor<?x1x1x1x8x8xf32> into tensor<?x512xi8>
  return %3 : tensor<?x512xi8>
}
