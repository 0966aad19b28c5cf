// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Keys and values are packed first, 32 of all heads at a time: keys are transposed in squares of 8, each of which is read, shuffled by 8 unpackings of
// elements, pairs and halves, and written before the next one. Then tasks of 12 queries in tiles of 6 iterate over groups
// of 4 packed blocks of 32 keys. A KV block has two of them, without mask below the diagonal; masked ones have at most two. The state is (acc, max, sum). A tile
// prefetches the next tile's queries and its own output rows.
// CHECK-LABEL: @causal
func.func @causal(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>) -> tensor<?x12x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: tensor.empty({{.*}}) : tensor<12x?x64x32xf32>
  // CHECK: tensor.empty({{.*}}) : tensor<12x2x?x32xf32>
  // CHECK: %[[PACKED:.*]]:2 = scf.forall
  // CHECK-COUNT-8: vector.transfer_read %arg1{{.*}} vector<8xf32>
  // CHECK: %[[LOW:.*]] = vector.shuffle %[[FIRST:.*]], %[[SECOND:.*]] [0, 8, 1, 9, 4, 12, 5, 13]
  // CHECK-NEXT: vector.shuffle %[[FIRST]], %[[SECOND]] [2, 10, 3, 11, 6, 14, 7, 15]
  // CHECK-NEXT: %[[NEXT:.*]] = vector.shuffle {{.*}} [0, 8, 1, 9, 4, 12, 5, 13]
  // CHECK: %[[FOUR:.*]] = vector.shuffle %[[LOW]], %[[NEXT]] [0, 1, 8, 9, 4, 5, 12, 13]
  // CHECK-NEXT: vector.shuffle %[[LOW]], %[[NEXT]] [2, 3, 10, 11, 6, 7, 14, 15]
  // CHECK: %[[KEYS:.*]] = vector.shuffle %[[FOUR]], %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11]
  // CHECK-NEXT: vector.shuffle %[[FOUR]], %{{.*}} [4, 5, 6, 7, 12, 13, 14, 15]
  // CHECK: attn_cpu.write_lines {{(%[0-9a-z_]+, ){7}%[0-9a-z_]+}} into {{.*}} : vector<8xf32> into
  // CHECK: vector.transfer_read %arg1{{.*}} vector<8xf32>
  // CHECK: vector.transfer_read %arg2
  // CHECK: scf.forall
  // CHECK: scf.for {{.*}} -> (tensor<12x64xf32>, tensor<12xf32>, tensor<12xf32>)
  // CHECK: scf.for {{.*}} step %c4
  // CHECK: scf.for %[[NTH:.*]] = {{.*}} step %c2{{.*}} iter_args({{.*}}) -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: tensor.extract_slice %[[PACKED]]#0{{.*}} tensor<12x?x64x32xf32> to tensor<2x64x32xf32>
  // CHECK: tensor.extract_slice %[[PACKED]]#1{{.*}} tensor<12x2x?x32xf32> to tensor<2x64x32xf32>
  // CHECK: arith.muli %[[NTH]], %{{.*}} : index
  // CHECK: attn_cpu.attention_state
  // CHECK-SAME: prefetch(%{{.*}}, %{{.*}} : tensor<6x64xf32>, tensor<6x64xf32>) rows(%{{.*}}, %{{.*}})
  // CHECK-SAME: : tensor<6x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
  // CHECK-NOT: limit
  // CHECK-NOT: mask {
  // CHECK: scf.for {{.*}} -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: affine.min
  // CHECK: attn_cpu.attention_state {{.*}} limit({{.*}} : tensor<6x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>,
  // CHECK: mask {
  // CHECK: arith.cmpi sle
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %o : tensor<?x12x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A sliding window has masked blocks at both ends: three loops for tiles of 6 queries.
// CHECK-LABEL: @window
func.func @window(%q: tensor<?x1x64xf32>, %k: tensor<?x1x64xf32>, %v: tensor<?x1x64xf32>) -> tensor<?x1x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK-COUNT-3: -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: -> (tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>)
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
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

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#slope = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv)>
#bias = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q, kv)>
#table = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// Extra operands that depend neither on q nor on kv are read once per task; attention_state gets a slice of the bias and the whole table.
// CHECK-LABEL: @extras
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<4x32xf32>)
func.func @extras(%q: tensor<?x4x64xf32>, %slope: tensor<4xf32>, %bias: tensor<4x?x?xf32>, %table: tensor<4x32xf32>) -> tensor<?x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: %[[SLOPE:.*]] = tensor.extract %{{.*}} : tensor<4xf32>
  // CHECK: %[[BIAS:.*]] = tensor.extract_slice %{{.*}} : tensor<4x?x?xf32> to tensor<6x?xf32>
  // CHECK: attn_cpu.attention_state {{.*}} extras(%[[BIAS]], %[[TABLE]] : tensor<6x?xf32>, tensor<4x32xf32>)
  // CHECK: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32, %{{.*}}: tensor<4x32xf32>)
  // CHECK: arith.mulf %[[S]], %[[SLOPE]] : f32
  %o = attn.attention %q, %q, %q, %scale extras(%slope, %bias, %table : tensor<4xf32>, tensor<4x?x?xf32>, tensor<4x32xf32>) maps [#q, #k, #v, #o, #slope, #bias, #table] {attn.schedule = #attention}
    : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: f32, %a: f32, %t: tensor<4x32xf32>):
      %0 = arith.mulf %s, %m : f32
      %1 = attn.lookup %t[%h, %j] : tensor<4x32xf32> -> f32
      %2 = arith.addf %0, %1 : f32
      %3 = arith.addf %2, %a : f32
      attn.yield %3 : f32
    }
  return %o : tensor<?x4x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Heads of 20 channels are padded in the tiles, and stored without padding.
// CHECK-LABEL: @narrow
func.func @narrow(%q: tensor<?x4x20xf32>) -> tensor<?x4x20xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: vector.transfer_read {{.*}} : tensor<1x20xf32>, vector<32xf32>
  // CHECK: attn_cpu.attention_state {{.*}} : tensor<6x32xf32>
  // CHECK: vector.transfer_write {{.*}} : vector<32xf32>, tensor<6x20xf32>
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention} : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
  return %o : tensor<?x4x20xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#bias = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv, hkv)>
#keys = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (g, kv, b, hkv)>

// Unit dims of a slice stay where they follow q or kv, as the type could not tell which dims were dropped.
// CHECK: #[[$BIAS:.*]] = affine_map<(d0, d1) -> (d0, d1, 0)>
// CHECK: #[[$KEYS:.*]] = affine_map<(d0, d1) -> (d1, 0, 0)>
// CHECK-LABEL: @heads_last
func.func @heads_last(%q: tensor<?x4x64xf32>, %bias: tensor<?x?x4xf32>, %keys: tensor<1x?x1x4xf32>) -> tensor<?x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: tensor.extract_slice %{{.*}} : tensor<?x?x4xf32> to tensor<6x?x1xf32>
  // CHECK: tensor.extract_slice %{{.*}} : tensor<1x?x1x4xf32> to tensor<?x1x1xf32>
  // CHECK: attn_cpu.attention_state {{.*}} maps [#[[$BIAS]], #[[$KEYS]]]
  // CHECK: tensor.extract_slice %{{.*}} : tensor<?x?x4xf32> to tensor<?x?x1xf32>
  %o = attn.attention %q, %q, %q, %scale extras(%bias, %keys : tensor<?x?x4xf32>, tensor<1x?x1x4xf32>) maps [#q, #k, #v, #o, #bias, #keys] {attn.schedule = #attention}
    : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32, %y: f32):
      %0 = arith.addf %s, %x : f32
      %1 = arith.addf %0, %y : f32
      attn.yield %1 : f32
    }
  return %o : tensor<?x4x64xf32>
}

// -----

// Ops whose results have no elements become no grid.
// CHECK-LABEL: @no_rows
func.func @no_rows(%x: tensor<0x7xf32>, %w: tensor<7xf32>) -> tensor<0x7xf32> {
  // CHECK-NEXT: %[[Y:.*]] = tensor.empty() : tensor<0x7xf32>
  // CHECK: return %[[Y]]
  %y = arith.addf %x, %x : tensor<0x7xf32>
  %z = attn.rms_norm %y, %w epsilon 1.0e-5 : tensor<0x7xf32>, tensor<7xf32>
  return %z : tensor<0x7xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>

// CHECK-LABEL: @no_queries
func.func @no_queries(%q: tensor<?x0x4x64xf32>, %k: tensor<?x?x4x64xf32>) -> tensor<?x0x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK-NOT: scf.forall
  // CHECK: return
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention} : tensor<?x0x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x0x4x64xf32>
  return %o : tensor<?x0x4x64xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// The number of queries may be static in the query alone, or in the result alone.
// CHECK-LABEL: @five
func.func @five(%q: tensor<5x2x32xf32>, %k: tensor<?x2x32xf32>) -> (tensor<?x2x32xf32>, tensor<5x2x32xf32>) {
  %scale = arith.constant 0.25 : f32
  // CHECK: %[[FIRST:.*]] = tensor.cast %{{.*}} : tensor<5x2x32xf32> to tensor<?x2x32xf32>
  // CHECK: %[[SECOND:.*]] = tensor.cast %{{.*}} : tensor<?x2x32xf32> to tensor<5x2x32xf32>
  // CHECK: return %[[FIRST]], %[[SECOND]]
  %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention} : tensor<5x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  %p = attn.attention %k, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention} : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<5x2x32xf32>
  return %o, %p : tensor<?x2x32xf32>, tensor<5x2x32xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], rest_rows = 5, task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// The caller of a bare kernel may leave rows behind the last sequence: a grid of its own fills them with zeros.
// CHECK-LABEL: @rest
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: tensor<?xi32>)
func.func @rest(%q: tensor<?x2x32xf32>, %begin: tensor<?xi32>) -> tensor<?x2x32xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: arith.maxsi
  // CHECK: %[[LAST:.*]] = tensor.extract %[[BEGIN]]
  // CHECK: %[[FIRST:.*]] = arith.index_cast %[[LAST]]
  // CHECK: %[[TASKS:.*]] = affine.apply #{{.*}}()[%{{.*}}, %[[FIRST]]]
  // CHECK: %[[ZEROED:.*]] = scf.forall (%{{.*}}) in (%[[TASKS]])
  // CHECK: vector.transfer_write %{{.*}} : vector<32xf32>, tensor<?x2x32xf32>
  // CHECK: scf.forall.in_parallel
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[ZEROED]])
  %o = attn.attention %q, %q, %q, %scale q_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %o : tensor<?x2x32xf32>
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], rest_rows = 5, task_keys = 128, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// The runtime leaves no rows behind the last sequence: two grids, for packing and for attention. Offsets with another name are the caller's.
module attributes {attn.model = {}} {
  // CHECK-LABEL: @packed
  // CHECK-COUNT-2: scf.forall.in_parallel
  // CHECK-NOT: scf.forall.in_parallel
  func.func @packed(%q: tensor<?x2x32xf32>, %begin: tensor<?xi32> {attn.name = "row_begin"}) -> tensor<?x2x32xf32> {
    %scale = arith.constant 0.125 : f32
    %o = attn.attention %q, %q, %q, %scale q_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
      : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    return %o : tensor<?x2x32xf32>
  }
  // CHECK-LABEL: @named
  // CHECK-COUNT-3: scf.forall.in_parallel
  func.func @named(%q: tensor<?x2x32xf32>, %begin: tensor<?xi32> {attn.name = "parts"}) -> tensor<?x2x32xf32> {
    %scale = arith.constant 0.125 : f32
    %o = attn.attention %q, %q, %q, %scale q_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
      : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    return %o : tensor<?x2x32xf32>
  }
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 64, packed_keys = 32, queries = [14, 1], task_keys = 128, task_queries = 14, wide_queries = 14>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: 32 registers hold a square of 16, of keys that are read as whole panels.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @many_registers
  func.func @many_registers(%q: tensor<?x1x64xf32>, %k: tensor<?x1x64xf32>, %v: tensor<?x1x64xf32>) -> tensor<?x1x64xf32> {
    %scale = arith.constant 0.125 : f32
    // CHECK-COUNT-16: vector.transfer_read %arg1{{.*}} vector<32xf32>
    // CHECK-COUNT-128: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
    // CHECK: vector.transfer_read %arg2
    %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
      : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
    return %o : tensor<?x1x64xf32>
  }
}

// -----

#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 256, packed_keys = 32, queries = [6, 1], rest_keys = 128, task_keys = 256, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A rest of at least 4 blocks of 32 keys, or one with which all keys end, is a KV block without a mask.
// CHECK-LABEL: @unmasked_rest
func.func @unmasked_rest(%q: tensor<?x1x64xf32>, %k: tensor<?x1x64xf32>, %v: tensor<?x1x64xf32>) -> tensor<?x1x64xf32> {
  %scale = arith.constant 0.125 : f32
  // CHECK: %[[LONG:.*]] = arith.cmpi sge, %{{.*}}, %c4
  // CHECK-NEXT: %[[LAST:.*]] = arith.cmpi eq, %[[END:.*]], %[[ALL:.*]] : index
  // CHECK-NEXT: %[[ANY:.*]] = arith.ori %[[LONG]], %[[LAST]]
  // CHECK-NEXT: %[[BOTH:.*]] = arith.maxsi %[[END]], %[[BEHIND:.*]] : index
  // CHECK-NEXT: %[[MASKED:.*]] = arith.select %[[ANY]], %[[BOTH]], %[[BEHIND]]
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[MASKED]] step %c8
  // CHECK: affine.min
  // CHECK: attn_cpu.attention_state
  // CHECK-NOT: limit
  // CHECK-SAME: : tensor<6x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>,
  // CHECK: scf.for %{{.*}} = %[[MASKED]] to %[[ALL]] step %c8
  // CHECK: attn_cpu.attention_state {{.*}} limit({{.*}}
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
  return %o : tensor<?x1x64xf32>
}
