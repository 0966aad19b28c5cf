// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 128, packed_keys = 32, queries = [6, 1], task_keys = 256, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#shared = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>

// The channels of a second pair are packed behind those of the first: a panel of keys, and a copy of each tile's queries, have 64 + 32 channels. The
// key that all heads share is read by its position alone. (A45, A46)
// CHECK-LABEL: @pair
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x3x64xf32>, %[[K:.*]]: tensor<?x4x64xf32>, %[[V:.*]]: tensor<?x4x32xf32>, %[[Q2:.*]]: tensor<?x4x3x32xbf16>, %[[K2:.*]]: tensor<?x32xbf16>
// CHECK: tensor.empty(%{{.*}}) : tensor<4x?x96x32xf32>
// CHECK: scf.forall
// CHECK: vector.transfer_read %[[K]][%{{.*}}, %{{.*}}, %{{.*}}]
// CHECK: vector.transfer_read %[[K2]][%{{.*}}, %{{.*}}], %{{.*}} : tensor<?x32xbf16>
// CHECK: affine.apply #{{.*}}(%{{.*}})
// CHECK: scf.forall
// CHECK: tensor.empty() : tensor<6x96xf32>
// CHECK: tensor.extract_slice %[[Q]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, 1, 64]
// CHECK: tensor.extract_slice %[[Q2]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, 1, 32]
// CHECK: attn_cpu.attention_state {{.*}}tensor<6x96xf32>
func.func @pair(%q: tensor<?x4x3x64xf32>, %k: tensor<?x4x64xf32>, %v: tensor<?x4x32xf32>, %q2: tensor<?x4x3x32xbf16>, %k2: tensor<?x32xbf16>, %scale: f32) -> tensor<?x4x3x32xf32> {
  %o = attn.attention %q, %k, %v, %scale second(%q2, %k2 : tensor<?x4x3x32xbf16>, tensor<?x32xbf16>) maps [#q, #k, #v, #o, #q, #shared] {attn.schedule = #attention}
    : tensor<?x4x3x64xf32>, tensor<?x4x64xf32>, tensor<?x4x32xf32> -> tensor<?x4x3x32xf32>
  return %o : tensor<?x4x3x32xf32>
}
