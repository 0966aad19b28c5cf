// RUN: rapt-opt %s --attn-generic-schedule | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Attention has its tiles and KV blocks; linalg ops, which other ops become, have those of the module.
// CHECK: #[[LINALG:.*]] = #attn.schedule<linalg = <columns = 256, rows = 16>>
// CHECK: #[[TILES:.*]] = #attn.schedule<keys = 64, queries = 16>
// CHECK: module attributes {attn.schedule = #[[LINALG]]}
// CHECK: attn.attention {{.*}} {attn.schedule = #[[TILES]]}
// CHECK: attn.activation relu %{{[a-z0-9]+}} : tensor
module {
  func.func @f(%q: tensor<?x4x20xf32>, %s: f32, %x: tensor<?x64xf32>) -> (tensor<?x4x20xf32>, tensor<?x64xf32>) {
    %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
    %1 = attn.activation relu %x : tensor<?x64xf32>
    return %0, %1 : tensor<?x4x20xf32>, tensor<?x64xf32>
  }
}
