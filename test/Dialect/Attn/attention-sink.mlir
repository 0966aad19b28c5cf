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
#o1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>

// A sink for each query head of each key head, of any float. It stays where a result that nothing reads goes.
// CHECK-LABEL: @heads
// CANON-LABEL: @heads
func.func @heads(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %sink: tensor<6xbf16>, %n: tensor<?xi32>) -> tensor<?x2x3x8xf32> {
  // CHECK: attn.attention {{.*}} kv_begin(%{{.*}} : tensor<?xi32>) sink(%{{.*}} : tensor<6xbf16>) log_sum_exp maps
  // CANON: %{{[a-z0-9]+}} = attn.attention {{.*}} sink(%{{.*}} : tensor<6xbf16>) maps
  %o, %lse = attn.attention %q, %k, %v, %s kv_begin(%n : tensor<?xi32>) sink(%sink : tensor<6xbf16>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return %o : tensor<?x2x3x8xf32>
}

// Without heads there is one sink. An extent of heads or of sinks may be dynamic.
// CHECK-LABEL: @extents
func.func @extents(%q: tensor<?x16xf32>, %x: tensor<?x?x3x16xf32>, %y: tensor<?x?x16xf32>, %s: f32, %one: tensor<1xf16>, %six: tensor<6xf32>, %any: tensor<?xf32>) {
  // CHECK: sink(%{{.*}} : tensor<1xf16>)
  %0 = attn.attention %q, %q, %q, %s sink(%one : tensor<1xf16>) maps [#q1, #k1, #v1, #o1] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  // CHECK: sink(%{{.*}} : tensor<6xf32>)
  %1 = attn.attention %x, %y, %y, %s sink(%six : tensor<6xf32>) maps [#q, #k, #v, #o] : tensor<?x?x3x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x3x16xf32>
  // CHECK: additive(%{{.*}}) sink(%{{.*}} : tensor<?xf32>)
  %v = tensor.empty() : tensor<16xf32>
  %2 = attn.attention %q, %q, %q, %s additive(%v : tensor<16xf32>) sink(%any : tensor<?xf32>) maps [#q1, #k1, #v1, #o1] : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}
