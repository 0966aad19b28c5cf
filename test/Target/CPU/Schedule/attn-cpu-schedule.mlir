// RUN: rapt-opt %s --attn-cpu-schedule --split-input-file | FileCheck %s

// 32 registers of 16 floats hold 14 x 2 accumulators beside the operands. A deep matmul has k-blocking; a matmul that is not tiled has no schedule.
// CHECK-DAG: #[[LINALG:.*]] = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>
// CHECK-DAG: #[[WHOLE:.*]] = #attn_cpu.linear_schedule<kernel = <chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>, rows = [14, 8, 4, 2, 1], task_rows = 210>
// CHECK-DAG: #[[BLOCKED:.*]] = #attn_cpu.linear_schedule<depth = 512, finish = [8, 1], kernel = <chains = 4, columns = 32, {{.*}} rows = 14{{.*}}>, many_rows = 28, panels = 4, rows = [14, 8, 4, 2, 1], task_rows = 210, tasks = 8>
// CHECK: module attributes {attn.schedule = #[[LINALG]]
// CHECK: attn.linear %{{.*}} {attn.schedule = #[[WHOLE]], layout = {{.*}}}
// CHECK: attn.linear %{{.*}} {attn.schedule = #[[BLOCKED]], layout = {{.*}}}
// CHECK: attn.linear %{{[^{]*}} : tensor<?x64xf32>, tensor<64x33xf32>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @linear(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %y: tensor<?x3072xf32>, %v: tensor<2x3072x32xf32>, %u: tensor<64x33xf32>)
      -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x33xf32>) {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    %1 = attn.linear %y, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3072xf32>, tensor<2x3072x32xf32> -> tensor<?x64xf32>
    %2 = attn.linear %x, %u : tensor<?x64xf32>, tensor<64x33xf32> -> tensor<?x33xf32>
    return %0, %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x33xf32>
  }
}

// -----

// 16 registers of 8 floats hold 6 x 2 accumulators: tiles of 12 rows are two of them. An iteration has four steps, 3 rows or fewer take all columns of a panel, and a single row those of three panels.
// CHECK: #attn_cpu.linear_schedule<kernel = <chains = 4, columns = 16, prefetch = <resident_bytes = 65536, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6, unroll = 4, wide_rows = 3>, row_panels = 3, rows = [12, 6, 3, 2, 1], task_rows = 216, tasks = 8>
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @few_registers(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// Rows are packed by tiles of 6 there, which share a panel's prefetch by twice as many, and tasks have fewer of them. Near misses: a result of few columns does not pay for it, and
// VNNI-packed panels are multiplied by rows as they are.
// CHECK-DAG: #[[WHOLE:.*]] = #attn_cpu.linear_schedule<kernel = <{{.*}} tiles = 16>{{.*}}>, pack_rows = 6, row_panels = 3, rows = [6, 3, 2, 1], task_rows = 120, tasks = 8>
// CHECK-DAG: #[[DEEP:.*]] = #attn_cpu.linear_schedule<depth = 512, {{.*}} tiles = 16>{{.*}} pack_rows = 6, panels = 4, row_panels = 3, rows = [6, 3, 2, 1], task_rows = 96
// CHECK-DAG: #[[PAIRS:.*]] = #attn_cpu.linear_schedule<depth = 512, {{.*}} many_rows = 28, panels = 4, row_panels = 3, rows = [12, 4, 2, 1]
// CHECK-DAG: #[[NARROW:.*]] = #attn_cpu.linear_schedule<kernel = <{{.*}} tiles = 8>{{.*}}>, row_panels = 3, rows = [12, 6, 3, 2, 1]
// CHECK: @packed
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @packed(%x: tensor<?x64xf32>, %w: tensor<16x64x32xf32>, %y: tensor<?x3072xf32>, %u: tensor<16x3072x32xf32>, %v: tensor<16x1536x64xbf16>, %t: tensor<15x64x32xf32>)
      -> (tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x480xf32>) {
    // CHECK: attn.schedule = #[[WHOLE]]
    // CHECK: attn.schedule = #[[DEEP]]
    // CHECK: attn.schedule = #[[PAIRS]]
    // CHECK: attn.schedule = #[[NARROW]]
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<16x64x32xf32> -> tensor<?x512xf32>
    %1 = attn.linear %y, %u {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3072xf32>, tensor<16x3072x32xf32> -> tensor<?x512xf32>
    %2 = attn.linear %y, %v {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x3072xf32>, tensor<16x1536x64xbf16> -> tensor<?x512xf32>
    %3 = attn.linear %x, %t {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<15x64x32xf32> -> tensor<?x480xf32>
    return %0, %1, %2, %3 : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x480xf32>
  }
}

// -----

// VNNI-packed panels: without bf16 dot products panels are widened, in registers for few rows.
// CHECK: #attn_cpu.linear_schedule<kernel = <chains = 4, columns = 16, {{.*}} rows = 6, {{.*}}unroll = 4, vnni_rows = 5, wide_rows = 2>, row_panels = 3, rows = [12, 4, 2, 1], task_rows = 216, tasks = 8, widen_rows = 28>
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @pairs(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// AMX multiplies two tiles of 16 rows at a time.
// CHECK: #attn_cpu.linear_schedule<kernel = <chains = 4, columns = 32, matrix_rows = 16, {{.*}} rows = 14, {{.*}}vnni_rows = 13>, rows = [32, 16, 4, 1], task_rows = 224>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @matrix(%x: tensor<?x64xbf16>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// 4-bit weights in groups: micro-kernels have fewer rows, as registers hold int32 accumulators and f32 sums. A task's rows stay in L2.
// CHECK: #attn_cpu.linear_schedule<kernel = <chains = 4, columns = 32, group_rows = 7, {{.*}} rows = 7{{.*}}>, rows = [12, 4, 1], task_rows = 60>
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @integers(%x: tensor<?x8192x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<2x8192x32x!attn.quantized<u4 group 32 axis 0>>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x8192x!attn.quantized<s8 group 32 axis 1>>, tensor<2x8192x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// 16 registers: tiles of 12 and 6 rows, the latter take whole lines of 4 bits and a single row two panels at once, tasks of many rows unpack a panel once.
// CHECK: #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 2, {{.*}} rows = 6, {{.*}}unroll = 4, wide_rows = 6>, row_panels = 2, rows = [12, 6, 3, 2, 1], task_rows = 216, tasks = 8, widen_rows = 24>
// CHECK: #attn_cpu.linear_schedule<kernel = <columns = 16, {{.*}} rows = 6, {{.*}}unroll = 4, wide_rows = 1>, rows = [12, 6, 3, 2, 1], task_rows = 216>
module attributes {attn.target = {int8_pairs, vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @pairs(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
  func.func @bytes(%x: tensor<?x64x!attn.quantized<s8 group 0 axis 1>>, %w: tensor<2x64x32x!attn.quantized<u8 group 0 axis 0>>) -> tensor<?x64xf32> {
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 0 axis 1>>, tensor<2x64x32x!attn.quantized<u8 group 0 axis 0>> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// Linear attention has slices of a panel and chunks of 64 tokens. With 32 registers two tokens share a pass over the state, and two key channels of a single token have sums of
// their own, where 2 divides them; with 16 registers one of each.
// CHECK-DAG: #[[SLICE:.*]] = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, keys = 2, single = 64, tokens = 2>
// CHECK-DAG: #[[ODD:.*]] = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, keys = 1, single = 64, tokens = 2>
// CHECK: attn.linear_attention {{.*}}attn.schedule = #[[SLICE]]
// CHECK: attn.linear_attention {{.*}}attn.schedule = #[[ODD]]
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @linear_attention(%q: tensor<?x1x64xf32>, %k: tensor<?x1x7xf32>, %v: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
    %0 = attn.linear_attention linear %q, %q, %v rows(%begin) : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    %1 = attn.linear_attention linear %k, %k, %v rows(%begin) : tensor<?x1x7xf32>, tensor<?x1x7xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0, %1 : tensor<?x1x64xf32>, tensor<?x1x64xf32>
  }
}

// -----

// CHECK: #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, keys = 1, single = 32, tokens = 1>
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @linear_attention(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

// A recurrence has tiles of 8 sequences.
// CHECK: #attn_cpu.recurrence_schedule<kernel = <chains = 4, columns = 32, {{.*}} rows = 14{{.*}}>, rows = 8>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @recurrence(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %begin: tensor<?xi32>) -> tensor<?x64xf32> {
    %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// Keys without a cache are packed first, or by the tasks of few queries. Tokens that attend to one another have as few keys, and one split.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK: #attn_cpu.attention_schedule<heads = 1, kernel = <chains = 4, columns = 32, {{.*}} rows = 14, {{.*}}vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], {{.*}}, splits = 1, task_keys = 512, task_queries = 252, wide_queries = 14>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @plain(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

// With 16 registers a tile has two micro-kernel tiles of 6 queries, and a KV block 256 keys; a task's keys are whole KV blocks, and
// a rest of half as many keys has no mask.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// CHECK-DAG: #attn_cpu.attention_schedule<heads = 1, kernel = <chains = 4, columns = 16, line_steps = 8, {{.*}} rows = 6, {{.*}}unroll = 4, vnni_rows = 5, wide_rows = 2>, keys = 256, packed_keys = 32, queries = [12, 1], rest_keys = 128, {{.*}}, splits = 1, task_keys = 512, task_queries = 252, wide_queries = 12>
// CHECK-DAG: #attn_cpu.attention_schedule<{{.*}} keys = 256, packed_keys = 32, queries = [12, 1], rest_keys = 128, {{.*}}, task_keys = 256, task_queries = 252, wide_queries = 12>
// CHECK: @few_registers
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @few_registers(%q: tensor<?x12x64xf32>, %wide: tensor<?x12x80xf32>, %s: f32) -> (tensor<?x12x64xf32>, tensor<?x12x80xf32>) {
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    %p = attn.attention %wide, %wide, %wide, %s maps [#q, #k, #v, #o] : tensor<?x12x80xf32>, tensor<?x12x80xf32>, tensor<?x12x80xf32> -> tensor<?x12x80xf32>
    return %o, %p : tensor<?x12x64xf32>, tensor<?x12x80xf32>
  }
}

// -----

// The tiles of splits have all heads of a group as rows. Three heads that differ in more than their queries would pack the same keys each, so that they have
// no splits; two may.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
// CHECK: #attn_cpu.attention_schedule<heads = 3, kernel = {{.*}}, packed_keys = 32, {{.*}} split_keys
// CHECK: #attn_cpu.attention_schedule<heads = 1, kernel = {{.*}}, packed_keys = 32, {{.*}} split_keys
// CHECK: #attn_cpu.attention_schedule<kernel = {{.*}}, packed_keys = 32,
// CHECK-NOT: split_keys
// CHECK: @groups
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @groups(%two: tensor<?x4x2x64xf32>, %three: tensor<?x4x3x64xf32>, %k: tensor<?x4x64xf32>, %s: f32)
      -> (tensor<?x4x3x64xf32>, tensor<?x4x2x64xf32>, tensor<?x4x3x64xf32>) {
    %x = attn.attention %three, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x4x3x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x3x64xf32>
    %y = attn.attention %two, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x4x2x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x2x64xf32>
      mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %0 = arith.cmpi ule, %h, %j : index
        attn.yield %0 : i1
      }
    %z = attn.attention %three, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x4x3x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x3x64xf32>
      mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %0 = arith.cmpi ule, %h, %j : index
        attn.yield %0 : i1
      }
    return %x, %y, %z : tensor<?x4x3x64xf32>, tensor<?x4x2x64xf32>, tensor<?x4x3x64xf32>
  }
}

// -----

// KV blocks and splits are multiples of a cache's blocks. The three heads of a group share a tile of a split. AMX takes 32 queries as two tiles
// of 16; fewer than 16 queries are padded to a tile.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
// CHECK: #attn_cpu.attention_schedule<heads = 3, kernel = <chains = 4, columns = 32, {{.*}}matrix_rows = 16, {{.*}} rows = 14, {{.*}}vnni_rows = 13>, keys = 128, queries = [32, 16], rest_rows = 256, split_keys = 256, split_queries = 1, splits = 16, task_keys = 1024, task_queries = 256, wide_queries = 14>
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @cache(%cache: tensor<?x1x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x3x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn_cpu.bf16_matmul}
      : tensor<?x4x3x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x4x3x64xf32>
    return %o : tensor<?x4x3x64xf32>
  }
}

// -----

// An op that is not tiled for the CPU has the schedule of its neutral decomposition.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, dv, q)>
// CHECK: #attn.attention_tiles<keys = 64, queries = 16>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @transposed(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<12x64x?xf32> {
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<12x64x?xf32>
    return %o : tensor<12x64x?xf32>
  }
}
