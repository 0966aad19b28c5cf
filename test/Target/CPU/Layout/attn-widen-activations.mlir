// RUN: rapt-opt %s --attn-widen-activations --split-input-file | FileCheck %s

// A matmul rounds in its epilogue; what reads its result next reads f32, and the function gives the same numbers in bf16.
// CHECK-LABEL: @product
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<64x96xbf16>, %[[V:.*]]: tensor<96xf32>
func.func @product(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %v: tensor<96xf32>) -> (tensor<?x96xbf16>, tensor<?x96xbf16>) {
  // CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : tensor<?x64xbf16> to tensor<?x64xf32>
  // CHECK: %[[Y:.*]] = attn.linear %[[WIDE]], %[[W]] : tensor<?x64xf32>, tensor<64x96xbf16> -> tensor<?x96xf32> {
  // CHECK: %[[ROUNDED:.*]] = arith.truncf
  // CHECK-NEXT: %[[BACK:.*]] = arith.extf %[[ROUNDED]]
  // CHECK-NEXT: attn.yield %[[BACK]]
  // CHECK: %[[NARROW:.*]] = arith.truncf %[[Y]] : tensor<?x96xf32> to tensor<?x96xbf16>
  %y = attn.linear %x, %w : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
  // CHECK: %[[Z:.*]] = attn.rms_norm %[[Y]], %[[V]] epsilon {{.*}} : tensor<?x96xf32>, tensor<96xf32>
  // CHECK: %[[NORM:.*]] = arith.truncf %[[Z]] : tensor<?x96xf32> to tensor<?x96xbf16>
  %z = attn.rms_norm %y, %v epsilon 1.0e-6 : tensor<?x96xbf16>, tensor<96xf32>
  // CHECK: return %[[NARROW]], %[[NORM]]
  return %y, %z : tensor<?x96xbf16>, tensor<?x96xbf16>
}

// -----

// Ops that move numbers move f32, without a rounding between; a result that is read on is rounded first.
// CHECK-LABEL: @moved
func.func @moved(%x: tensor<?x64xf16>, %v: tensor<64xf32>, %rows: tensor<?xi32>) -> tensor<?x2x32xf16> {
  // CHECK: %[[NORM:.*]] = attn.rms_norm
  // CHECK: %[[ROUNDED:.*]] = arith.truncf %[[NORM]] : tensor<?x64xf32> to tensor<?x64xf16>
  // CHECK: %[[WIDE:.*]] = arith.extf %[[ROUNDED]] : tensor<?x64xf16> to tensor<?x64xf32>
  // CHECK: %[[ROWS:.*]] = attn.select_rows %[[WIDE]]
  // CHECK-NEXT: %[[HEADS:.*]] = attn.split_heads %[[ROWS]] : tensor<?x64xf32> -> tensor<?x2x32xf32>
  // CHECK-NEXT: %[[RESULT:.*]] = arith.truncf %[[HEADS]]
  // CHECK-NEXT: return %[[RESULT]]
  %n = attn.rms_norm %x, %v epsilon 1.0e-6 : tensor<?x64xf16>, tensor<64xf32>
  %y = attn.select_rows %n, %rows : tensor<?x64xf16>, tensor<?xi32> -> tensor<?x64xf16>
  %z = attn.split_heads %y : tensor<?x64xf16> -> tensor<?x2x32xf16>
  return %z : tensor<?x2x32xf16>
}

// -----

// A loop carries f32, but for a state, which stays where it is.
// CHECK-LABEL: @carried
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[S:.*]]: tensor<?x64xbf16>
func.func @carried(%x: tensor<?x64xbf16>, %s: tensor<?x64xbf16>, %rows: tensor<?xi32>, %n: index) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[WIDE:.*]] = arith.extf %[[X]]
  // CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[Y:.*]] = %[[WIDE]], %[[T:.*]] = %[[S]]) -> (tensor<?x64xf32>, tensor<?x64xbf16>)
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x, %t = %s) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
    // CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[Y]] : tensor<?x64xf32>
    // CHECK: %[[NEW:.*]] = attn.update_rows %[[T]], %{{.*}} : tensor<?x64xbf16>, tensor<?x64xf32>, tensor<?xi32>
    // CHECK: scf.yield %{{.*}}, %[[NEW]] : tensor<?x64xf32>, tensor<?x64xbf16>
    %z = arith.addf %y, %y : tensor<?x64xbf16>
    %u = attn.update_rows %t, %z, %rows : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?xi32>
    scf.yield %z, %u : tensor<?x64xbf16>, tensor<?x64xbf16>
  }
  // CHECK: %[[RESULT:.*]] = arith.truncf %[[LOOP]]#0
  // CHECK: return %[[RESULT]], %[[LOOP]]#1
  return %0#0, %0#1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// -----

// A kernel's cache is an array of 16 bits, which new keys and values go into.
// CHECK-LABEL: @cache
// CHECK-SAME: %[[POOL:.*]]: tensor<?x1x1x2x64x64xbf16>
func.func @cache(%pool: tensor<?x1x1x2x64x64xbf16>, %i: index, %k: tensor<?x1x64xf16>, %begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> tensor<?x1x1x2x64x64xbf16> {
  // CHECK: %[[K:.*]] = arith.extf
  // CHECK: attn.kv_append %[[POOL]][%{{.*}}], %[[K]], %[[K]] {{.*}} : tensor<?x1x1x2x64x64xbf16>, tensor<?x1x64xf32>, tensor<?x1x64xf32>
  %new = attn.kv_append %pool[%i], %k, %k rows(%begin, %past, %table) {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>}
    : tensor<?x1x1x2x64x64xbf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %new : tensor<?x1x1x2x64x64xbf16>
}

// -----

// Near miss: activations of f32 stay as they are, and so do weights, keys and values of 16 bits.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK-LABEL: @f32
func.func @f32(%q: tensor<?x2x32xf32>, %k: tensor<?x2x32xbf16>, %scale: f32, %w: tensor<64x64xf16>) -> tensor<?x64xf32> {
  // CHECK-NOT: arith.{{ext|trunc}}f
  // CHECK: return
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16> -> tensor<?x2x32xf32>
  %x = attn.merge_heads %o : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The vector of an additive similarity is widened; an extra operand that is the same tensor is read as it is.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<64xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[W]] : tensor<64xbf16> to tensor<64xf32>
// CHECK: attn.attention {{.*}} extras(%[[W]] : tensor<64xbf16>) additive(%[[WIDE]] : tensor<64xf32>)
func.func @twice(%q: tensor<64x4x64xf32>, %w: tensor<64xbf16>, %scale: f32) -> tensor<64x4x64xf32> {
  %o = attn.attention %q, %q, %q, %scale extras(%w : tensor<64xbf16>) additive(%w : tensor<64xbf16>) maps [#q, #k, #v, #o, #t]
    : tensor<64x4x64xf32>, tensor<64x4x64xf32>, tensor<64x4x64xf32> -> tensor<64x4x64xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: bf16):
      %y = arith.extf %e : bf16 to f32
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    }
  return %o : tensor<64x4x64xf32>
}

// -----

// Sinks are read as they are: each is one number for all of a task's queries.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK-LABEL: func.func @sinks
// CHECK-SAME: %[[SINK:[a-z0-9]+]]: tensor<4xf16>
// CHECK-NOT: arith.extf %[[SINK]]
// CHECK: attn.attention {{.*}} sink(%[[SINK]] : tensor<4xf16>)
func.func @sinks(%sink: tensor<4xf16>, %q: tensor<64x4x64xbf16>, %scale: f32) -> tensor<64x4x64xbf16> {
  %o = attn.attention %q, %q, %q, %scale sink(%sink : tensor<4xf16>) maps [#q, #k, #v, #o]
    : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<64x4x64xbf16> -> tensor<64x4x64xbf16>
  return %o : tensor<64x4x64xbf16>
}
