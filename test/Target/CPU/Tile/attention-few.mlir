// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn.schedule<few_queries = 12, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// One of three grids runs besides the other two: many queries read keys that the first one packs. The task of few queries packs groups of two blocks, or
// four where there are several tiles, and its tiles have as many queries as are left.
// CHECK-LABEL: @few_or_many
func.func @few_or_many(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>) -> tensor<?x12x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: %[[FEW:.*]] = arith.cmpi ule, %{{.*}}, %c12
  // CHECK: arith.select %[[FEW]], %c0
  // CHECK: %[[PACKED:.*]]:2 = scf.forall
  // CHECK: arith.select %[[FEW]], %c0
  // CHECK: %[[MANY:.*]] = scf.forall
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<6x64xf32>
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<?x64xf32>
  // CHECK: scf.forall.in_parallel
  // CHECK: arith.select %[[FEW]], %{{.*}}, %c0
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[MANY]])
  // CHECK: tensor.empty() : tensor<4x64x32xf32>
  // CHECK: tensor.empty() : tensor<2x128x32xf32>
  // CHECK: vector.transfer_read %arg1
  // CHECK: vector.transfer_read %arg2
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<?x64xf32>
  // CHECK-NOT: attn_cpu.attention_state
  // CHECK: scf.forall.in_parallel
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

#attention = #attn.schedule<few_queries = 12, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A static number of queries decides when compiled.
// CHECK-LABEL: @always
func.func @always(%q: tensor<5x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>) -> tensor<5x12x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: scf.forall
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<5x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<5x12x64xf32>
  return %o : tensor<5x12x64xf32>
}

// -----

#attention = #attn.schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// Without few_queries, the three query heads of a key head read one packed copy.
// CHECK-LABEL: @groups
func.func @groups(%q: tensor<5x4x3x64xf32>, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>) -> tensor<5x4x3x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK-COUNT-2: scf.forall (
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<5x4x3x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<5x4x3x64xf32>
  return %o : tensor<5x4x3x64xf32>
}
