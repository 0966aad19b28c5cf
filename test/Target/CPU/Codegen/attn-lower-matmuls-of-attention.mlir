// RUN: rapt-opt %s --attn-lower-matmuls --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, line_steps = 2, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // Keys and values 16 KiB ahead may be read much later: they are prefetched into L2.
  // CHECK-LABEL: @few_queries
  func.func @few_queries(%a: memref<4x64xf32>, %b: memref<64x32xf32>, %c: memref<4x32xf32>) {
    // CHECK: scf.for %[[K:[a-z0-9]*]]
    // CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c128
    // CHECK-COUNT-2: memref.prefetch %arg1[%[[AHEAD]], {{.*}}], read, locality<2>
    // CHECK-NOT: memref.prefetch
    // CHECK: return
    attn_cpu.panel_matmul %a, %b, %c {attn.schedule = #kernel} : memref<4x64xf32>, memref<64x32xf32>, memref<4x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 16, line_steps = 2, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6>
// Near miss: 14 queries, in micro-kernel tiles of 4 or 5 rows for 16 registers.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @parts_of_queries
  func.func @parts_of_queries(%a: memref<14x64xf32>, %b: memref<64x32xf32>, %c: memref<14x32xf32>) {
    // CHECK: memref.prefetch %arg1{{.*}}, read, locality<3>
    // CHECK-NOT: memref.prefetch {{.*}}locality<2>
    // CHECK: return
    attn_cpu.panel_matmul %a, %b, %c {attn.schedule = #kernel} : memref<14x64xf32>, memref<64x32xf32>, memref<14x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, line_steps = 2, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>
// A dynamic number of keys: every two steps prefetch one cache line. 14 rows of 4 lines are 56 lines, spread over all steps.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @brought_near
  // CHECK-SAME: %[[NEXT:[a-z0-9]+]]: memref<14x64xf32>
  func.func @brought_near(%next: memref<14x64xf32>, %a: memref<14x?xf32>, %b: memref<?x32xf32>, %c: memref<14x32xf32>, %from: index, %to: index) {
    // CHECK: %[[STEPS:.*]] = memref.dim
    // CHECK: %[[SHARE:.*]] = arith.divui %{{.*}}, %[[STEPS]]
    // CHECK: scf.for %[[K:.*]] = %c0{{.*}} to {{.*}} step %c2
    // CHECK: %[[FAR:.*]] = arith.muli %[[SHARE]], %[[K]]
    // CHECK: %[[LINE:.*]] = arith.shrui %[[FAR]], %c16
    // CHECK: arith.divui %[[LINE]], %c4
    // CHECK: memref.prefetch %[[NEXT]][{{.*}}], write, locality<3>, data
    // CHECK-COUNT-56: vector.fma
    // CHECK-NOT: vector.fma
    attn_cpu.panel_matmul %a, %b, %c prefetch(%next : memref<14x64xf32>) rows(%from, %to) write {attn.schedule = #kernel} : memref<14x?xf32>, memref<?x32xf32>, memref<14x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, line_steps = 2, rows = 14>
// A dynamic number of rows: parts of 8 rows, then at most one of 4, 2 and 1, with up to 4 accumulator chains.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @rows_left
  func.func @rows_left(%a: memref<?x64xf32>, %b: memref<64x32xf32>, %c: memref<?x32xf32>) {
    // CHECK: %[[ROWS:.*]] = memref.dim %arg0
    // CHECK: scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %c8
    // CHECK: memref.subview %arg0[{{.*}}] [8, 64]
    // CHECK-COUNT-16: vector.fma
    // CHECK: scf.if
    // CHECK: memref.subview %arg0[{{.*}}] [4, 64]
    // CHECK-COUNT-8: vector.fma
    // CHECK: scf.if
    // CHECK: memref.subview %arg0[{{.*}}] [2, 64]
    // CHECK-COUNT-8: vector.fma
    // CHECK: scf.if
    // CHECK: memref.subview %arg0[{{.*}}] [1, 64]
    // CHECK-COUNT-8: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK: return
    attn_cpu.panel_matmul %a, %b, %c {attn.schedule = #kernel} : memref<?x64xf32>, memref<64x32xf32>, memref<?x32xf32>
    return
  }
}
