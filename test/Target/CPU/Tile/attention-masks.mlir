// RUN: rapt-opt %s --attn-cpu-schedule --attn-cpu-tile --split-input-file --remarks-filter=mask 2>%t.remarks | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t.remarks

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#of_query = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q)>
#of_key = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>

// Blocks of other documents: the least and the largest id of a task's queries and keys tell those of all tiles, then those of a tile and a
// KV block tell one that is skipped, one without a mask, and one with it.
// CHECK-LABEL: @documents
// REMARK: Mask="a region: 100 % of blocks of 12 queries and 256 keys are visited at 8192 keys, and fewer where operands tell so"
func.func @documents(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %d: tensor<?xi32>, %e: tensor<?xi32>, %s: f32) -> tensor<?x4x32xf32> {
  // CHECK: scf.forall
  // CHECK: scf.for %[[BEGIN:[a-z0-9]+]] =
  // CHECK: vector.transfer_read %{{.*}} : tensor<?xi32>, vector<32xi32>
  // CHECK: %[[LEAST:.*]] = vector.reduction <minsi>, %{{.*}} : vector<32xi32> into i32
  // CHECK: %[[MOST:.*]] = vector.reduction <maxsi>, %{{.*}} : vector<32xi32> into i32
  // CHECK: scf.if %{{.*}} -> (tensor<252x32xf32>, tensor<252xf32>, tensor<252xf32>) {
  // CHECK: vector.reduction <minsi>
  // CHECK: vector.reduction <maxsi>
  // CHECK: scf.if %{{.*}} -> (tensor<12x32xf32>, tensor<12xf32>, tensor<12xf32>) {
  // CHECK: scf.if %{{.*}}
  // CHECK: attn_cpu.attention_state
  // CHECK-NOT: mask {
  // CHECK: } else {
  // CHECK: attn_cpu.attention_state {{.*}} limit
  // CHECK: mask {
  %o = attn.attention %q, %k, %k, %s extras(%d, %e : tensor<?xi32>, tensor<?xi32>) maps [#q, #k, #v, #o, #of_query, #of_key]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %x: i32, %y: i32):
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: a causal mask is all bounds, which the loops over blocks have.
// CHECK-LABEL: @causal
// CHECK-NOT: scf.if
// CHECK: return
// REMARK: Mask="causal: 52 % of blocks of 12 queries and 256 keys are visited at 8192 keys"
func.func @causal(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %s: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#of_key = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>

// Near miss: floats have no intervals, so every block is masked.
// CHECK-LABEL: @floats
// CHECK-NOT: scf.if
// CHECK: return
// REMARK: Mask="a region: 100 % of blocks of 12 queries and 256 keys are visited at 8192 keys"
func.func @floats(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %e: tensor<?xf32>, %s: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %s extras(%e : tensor<?xf32>) maps [#q, #k, #v, #o, #of_key]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %x: f32):
      %keep = arith.cmpf ogt, %x, %s : f32
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A number from outside is taken to be within 61 bits, and nothing is skipped where it is not.
// CHECK-LABEL: @window
// CHECK-SAME: %[[W:[a-z0-9]+]]: index
// CHECK-DAG: arith.cmpi sge, %[[W]], %c-2305843009213693952
// CHECK-DAG: arith.cmpi sle, %[[W]], %c2305843009213693952
// CHECK: scf.if
// REMARK: Mask="a region: 100 % of blocks of 12 queries and 256 keys are visited at 8192 keys, and fewer where operands tell so"
func.func @window(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %w: index, %s: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %last = arith.addi %j, %w : index
      %keep = arith.cmpi sgt, %last, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#of_both = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>

// A matrix that the heads share has a summary: a grid of its own reads it once, and the tiles read two elements for 12 x 32.
// CHECK-LABEL: @list
// REMARK: Mask="a region: 100 % of blocks of 12 queries and 256 keys are visited at 8192 keys, and fewer where operands tell so; heads share a summary of extra operand 0"
func.func @list(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %e: tensor<?x?xi8>, %s: f32) -> tensor<?x4x32xf32> {
  // CHECK: %[[SUMMARY:.*]] = scf.forall {{.*}} -> (tensor<1x1x?x?x2xi8>) {
  // CHECK: vector.transfer_read %{{.*}} : tensor<?x?xi8>, vector<32xi8>
  // CHECK: vector.reduction <minsi>, %{{.*}} : vector<32xi8> into i8
  // CHECK: vector.reduction <maxsi>, %{{.*}} : vector<32xi8> into i8
  // CHECK: scf.forall
  // CHECK-NOT: vector.reduction
  // CHECK: tensor.extract %[[SUMMARY]]
  // CHECK: scf.if
  // CHECK-NOT: vector.reduction
  // CHECK: return
  %o = attn.attention %q, %k, %k, %s extras(%e : tensor<?x?xi8>) maps [#q, #k, #v, #o, #of_both]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %x: i8):
      %zero = arith.constant 0 : i8
      %keep = arith.cmpi ne, %x, %zero : i8
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#of_head = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q, kv)>

// Near miss: each head reads a matrix of its own, once.
// CHECK-LABEL: @list_of_head
// CHECK-NOT: x2xi8>
// CHECK: vector.reduction <minsi>, %{{.*}} : vector<32xi8> into i8
// CHECK-NOT: x2xi8>
// CHECK: return
// REMARK: Mask="a region: 100 % of blocks of 12 queries and 256 keys are visited at 8192 keys, and fewer where operands tell so"
func.func @list_of_head(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>, %e: tensor<4x?x?xi8>, %s: f32) -> tensor<?x4x32xf32> {
  %o = attn.attention %q, %k, %k, %s extras(%e : tensor<4x?x?xi8>) maps [#q, #k, #v, #o, #of_head]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32> mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %x: i8):
      %zero = arith.constant 0 : i8
      %keep = arith.cmpi ne, %x, %zero : i8
      attn.yield %keep : i1
    }
  return %o : tensor<?x4x32xf32>
}
