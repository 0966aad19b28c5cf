// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --canonicalize %s | FileCheck %s --check-prefix=CANON

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#q1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>

// A45: a second pair of other types, whose maps are the last ones. It stays where a result that nothing reads goes.
// CHECK-LABEL: @pair
// CANON-LABEL: @pair
func.func @pair(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %q2: tensor<?x2x3x4xbf16>, %k2: tensor<?x4xf16>, %bias: tensor<?x?xf32>) -> tensor<?x2x3x8xf32> {
  // CHECK: attn.attention {{.*}} extras(%{{.*}} : tensor<?x?xf32>) second(%[[Q:.*]], %[[K:.*]] : tensor<?x2x3x4xbf16>, tensor<?x4xf16>) log_sum_exp maps [#map, #map1, #map2, #map3, #map4, #map, #map5]
  // CANON: %{{[a-z0-9]+}} = attn.attention {{.*}} second(%{{.*}}, %{{.*}} : tensor<?x2x3x4xbf16>, tensor<?x4xf16>) maps
  %o, %lse = attn.attention %q, %k, %v, %s extras(%bias : tensor<?x?xf32>) second(%q2, %k2 : tensor<?x2x3x4xbf16>, tensor<?x4xf16>) log_sum_exp
    maps [#q, #k, #v, #o, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>, #q, #k1] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32> score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
    %sum = arith.addf %x, %y : f32
    attn.yield %sum : f32
  }
  return %o : tensor<?x2x3x8xf32>
}

// A46: the second pair alone has the heads; its channels are as many as it likes.
// CHECK-LABEL: @heads
func.func @heads(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %s: f32, %q2: tensor<?x2x3x64xf32>, %k2: tensor<?x2x64xf32>) -> tensor<?x2x3x16xf32> {
  // CHECK: second(%{{.*}}, %{{.*}} : tensor<?x2x3x64xf32>, tensor<?x2x64xf32>) maps
  %o = attn.attention %q, %k, %k, %s second(%q2, %k2 : tensor<?x2x3x64xf32>, tensor<?x2x64xf32>) maps [#q1, #k1, #v1, #o, #q, #k]
    : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x2x3x16xf32>
  return %o : tensor<?x2x3x16xf32>
}
