// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// Optional members may be absent. Text names an op's schedule once, and writes out those within another.
// CHECK-DAG: #[[MODULE:.*]] = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, linalg = <columns = 256, rows = 16>>
// CHECK-DAG: #[[KERNEL:.*]] = #attn_cpu.micro_kernel<columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>
// CHECK-DAG: #[[LINEAR:.*]] = #attn_cpu.linear_schedule<finish = [8, 1], kernel = <columns = 32, rows = 14>, rows = [14, 8, 1], task_rows = 210>
// CHECK-DAG: #[[ATTENTION:.*]] = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14>, keys = 128, queries = [14], splits = 4, task_keys = 512, task_queries = 252, wide_queries = 14>
// CHECK-DAG: #[[RECURRENCE:.*]] = #attn_cpu.recurrence_schedule<kernel = <columns = 32, rows = 14>, rows = 8>
// CHECK-DAG: #[[STATE:.*]] = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, keys = 2, single = 64, tokens = 2>
// CHECK: module attributes {attn.schedule = #[[MODULE]]}
// CHECK: attn.schedule = #[[KERNEL]]
// CHECK-COUNT-2: attn.schedule = #[[LINEAR]]
// CHECK: attn.schedule = #[[ATTENTION]]
// CHECK: attn.schedule = #[[RECURRENCE]]
// CHECK: attn.schedule = #[[STATE]]
module attributes {attn.schedule = #attn_cpu.module_schedule<linalg = <columns = 256, rows = 16>, copies = <row_bytes = 4096, prefetch_bytes = 2048>>} {
  func.func @f(%x: tensor<?x64xf32>) {
    %0 = attn.activation relu %x {attn.schedule = #attn_cpu.micro_kernel<rows = 14, columns = 32, prefetch = <steps = 8, tiles = 8, resident_bytes = 16384, stream_rows = 5, stream_bytes = 16384>>} : tensor<?x64xf32>
    %1 = attn.activation relu %x {attn.schedule = #attn_cpu.linear_schedule<task_rows = 210, rows = [14, 8, 1], finish = [8, 1], kernel = <rows = 14, columns = 32>>} : tensor<?x64xf32>
    %2 = attn.activation relu %x {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 8, 1], finish = [8, 1], kernel = #attn_cpu.micro_kernel<columns = 32, rows = 14>, task_rows = 210>} : tensor<?x64xf32>
    %3 = attn.activation relu %x {attn.schedule = #attn_cpu.attention_schedule<queries = [14], task_queries = 252, wide_queries = 14, keys = 128, task_keys = 512, splits = 4, kernel = <columns = 32, rows = 14>>} : tensor<?x64xf32>
    %4 = attn.activation relu %x {attn.schedule = #attn_cpu.recurrence_schedule<rows = 8, kernel = <columns = 32, rows = 14>>} : tensor<?x64xf32>
    %5 = attn.activation relu %x {attn.schedule = #attn_cpu.linear_attention_schedule<columns = 32, single = 64, chunk = 64, tokens = 2, keys = 2>} : tensor<?x64xf32>
    return
  }
}
