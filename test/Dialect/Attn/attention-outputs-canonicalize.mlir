// RUN: rapt-opt --canonicalize %s | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A result that nothing reads is not computed; regions and attributes stay.
// CHECK-LABEL: @unread
func.func @unread(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x32xf32>, %s: f32) -> tensor<?x2x32xf32> {
  // CHECK: %[[O:.*]] = attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} maps [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}] {attn.op = 3 : i64}
  // CHECK-SAME: mask {
  // CHECK: return %[[O]]
  %o, %lse, %new = attn.attention %q, %q, %q, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) log_sum_exp maps [#q, #k, #v, #o] {attn.op = 3 : i64}
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x2x32xf32>
}

// CHECK-LABEL: @one
func.func @one(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x32xf32>, %s: f32) -> tensor<?x4x2x64xf32> {
  // CHECK: %{{.*}}, %[[NEW:.*]] = attn.attention {{.*}} weights(%{{.*}}[%{{.*}}] heads [0, 1] : tensor<?x4x2x64xf32>) maps
  // CHECK: return %[[NEW]]
  %o, %lse, %new = attn.attention %q, %q, %q, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %new : tensor<?x4x2x64xf32>
}

// Near miss: the result itself is computed in any case, and what is read stays.
// CHECK-LABEL: @read
func.func @read(%q: tensor<?x2x32xf32>, %s: f32) -> tensor<?x2xf32> {
  // CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention {{.*}} log_sum_exp maps
  // CHECK: return %[[LSE]]
  %o, %lse = attn.attention %q, %q, %q, %s log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %lse : tensor<?x2xf32>
}

// A map of its own stays where the weights go.
// CHECK-LABEL: @mapped
func.func @mapped(%w: tensor<?x4x2x64xf32>, %l: index, %q: tensor<?x2x32xf32>, %s: f32) -> tensor<2x?xf32> {
  // CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention {{.*}}, %{{[^ ]*}} log_sum_exp(#{{.*}}) maps
  // CHECK: return %[[LSE]] : tensor<2x?xf32>
  %o, %lse, %new = attn.attention %q, %q, %q, %s weights(%w[%l] heads [0, 1] : tensor<?x4x2x64xf32>) log_sum_exp(affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q)>) maps [#q, #k, #v, #o]
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %lse : tensor<2x?xf32>
}
