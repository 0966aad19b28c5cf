// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s --check-prefix=MEMORY

// Memory does not grow with queries times keys: no tensor has two dynamic extents, and none beyond the operands' has one but the
// result; what a task holds is of 8 queries or of 64 keys.
// MEMORY-NOT: tensor<{{[0-9x]*}}?x{{[0-9x]*}}?x
// MEMORY-NOT: tensor.empty(%{{.*}}, %

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Online softmax over blocks of 64 keys; the only state between blocks is (acc, max, sum). Blocks below the diagonal
// are visited without the mask, the rest with it.
// CHECK-LABEL: @causal
func.func @causal(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>) -> tensor<?x12x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: scf.forall
  // CHECK: scf.for %[[NTH:.*]] = {{.*}} iter_args({{.*}}) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: %[[BLOCK:.*]] = arith.constant 64 : index
  // CHECK: arith.muli %[[NTH]], %[[BLOCK]] : index
  // CHECK: tensor.empty() : tensor<2x64x32xf32>
  // CHECK: tensor.empty() : tensor<2x64x32xf32>
  // CHECK: attn.attention_state
  // CHECK-SAME: : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK-NOT: limit
  // CHECK-NOT: mask {
  // CHECK: scf.for {{.*}} -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: attn.attention_state {{.*}} limit(
  // CHECK: mask {
  // CHECK: arith.cmpi sle
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o]
    : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x12x64xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A window has a partial block at both ends: three loops for tiles of 8 queries.
// CHECK-LABEL: @window
func.func @window(%q: tensor<?x1x64xf32>, %k: tensor<?x1x64xf32>, %v: tensor<?x1x64xf32>) -> tensor<?x1x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK-COUNT-3: -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: -> (tensor<1x64xf32>, tensor<1xf32>, tensor<1xf32>)
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o]
    : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c100 = arith.constant 100 : index
      %start = arith.subi %i, %c100 : index
      %below = arith.cmpi sle, %j, %i : index
      %inside = arith.cmpi sgt, %j, %start : index
      %keep = arith.andi %below, %inside : i1
      attn.yield %keep : i1
    }
  return %o : tensor<?x1x64xf32>
}
