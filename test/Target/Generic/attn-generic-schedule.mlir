// RUN: rapt-opt %s --attn-generic-schedule | FileCheck %s
// RUN: rapt-opt %s --attn-generic-schedule="positions=4 channels=2" | FileCheck %s --check-prefix=APPEND

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Attention has its tiles and KV blocks; linalg ops, which other ops become, have those of the module.
// CHECK: #[[LINALG:.*]] = #attn.linalg_tiles<columns = 256, rows = 16>
// CHECK: #[[TILES:.*]] = #attn.attention_tiles<keys = 64, queries = 16>
// CHECK: module attributes {attn.schedule = #[[LINALG]]}
// CHECK: attn.attention {{.*}} {attn.schedule = #[[TILES]]}
// CHECK: attn.activation relu %{{[a-z0-9]+}} : tensor

// A task that appends has a whole block unless numbers are asked for.
// CHECK: attn.kv_append
// CHECK-NOT: attn.schedule
// CHECK: return
// APPEND: #[[PART:.*]] = #attn.append_tiles<channels = 2, positions = 4>
// APPEND: attn.kv_append {{.*}} {attn.schedule = #[[PART]]}
module {
  func.func @f(%q: tensor<?x4x20xf32>, %s: f32, %x: tensor<?x64xf32>) -> (tensor<?x4x20xf32>, tensor<?x64xf32>) {
    %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
    %1 = attn.activation relu %x : tensor<?x64xf32>
    return %0, %1 : tensor<?x4x20xf32>, tensor<?x64xf32>
  }
  func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) -> !attn.kv_cache<1 x 1 x 32, block = 64, f32> {
    %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
      : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    return %n : !attn.kv_cache<1 x 1 x 32, block = 64, f32>
  }
}
