// RUN: rapt-opt %s --attn-lower-quantized-matmuls --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, group_rows = 7, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 7, unrolled_steps = 32>
// Registers hold the int32 accumulators and f32 sums of 7 of the 14 rows: two loops over groups. Each of their 8 steps is two loads of the panel and one dot product
// per vector. Steps prefetch the next group: its scales, then one cache line each.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @groups
  func.func @groups(%rows: memref<14x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<14x32xf32>) {
    // CHECK-NOT: vector.store
    // CHECK: scf.for {{.*}} iter_args
    // CHECK: memref.prefetch %arg1
    // CHECK-COUNT-2: memref.prefetch %arg1[{{.*}}], read, locality<3>
    // CHECK-NOT: memref.prefetch
    // CHECK-COUNT-2: vector.load %arg1{{.*}} vector<64xi8>
    // CHECK-NOT: vector.load %arg1{{.*}} vector<64xi8>
    // CHECK-COUNT-14: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
    // CHECK-COUNT-2: memref.prefetch %arg1
    // CHECK-COUNT-2: vector.load %arg1{{.*}} vector<64xi8>
    // CHECK-COUNT-98: vpdpbusd
    // CHECK-NOT: vpdpbusd
    // CHECK-COUNT-14: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK-COUNT-14: vector.store
    // CHECK-NOT: vector.store
    // CHECK: scf.for {{.*}} iter_args
    // CHECK-COUNT-112: vpdpbusd
    // CHECK-NOT: vpdpbusd
    // CHECK-COUNT-14: vector.store
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #kernel}
      : memref<14x128xi8>, memref<2x1088xi8>, memref<14x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, unrolled_steps = 32>
// Tiles of 14 rows share a panel. Each chunk of 8 steps prefetches a row of the output, each step two lines of the panel and a share of the next panel. Rows that
// stay in L1 are not prefetched; of longer rows each chunk prefetches half, as it reads half a line of each.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @prefetch
  func.func @prefetch(%rows: memref<56x832xi8>, %panel: memref<1x24640xi8>, %output: memref<56x32xf32>, %dest: memref<14x32xf32>) {
    %c0 = arith.constant 0 : index
    %c14 = arith.constant 14 : index
    %c56 = arith.constant 56 : index
    // CHECK: %[[TILE:.*]] = memref.subview %arg0
    // CHECK: %[[WRITTEN:.*]] = memref.subview %arg2
    // CHECK: scf.for
    // CHECK-COUNT-2: memref.prefetch %[[WRITTEN]][{{.*}}], write, locality<2>
    // CHECK-NOT: memref.prefetch
    // CHECK-COUNT-2: memref.prefetch %arg1[{{.*}}], read, locality<3>
    // CHECK: memref.prefetch %arg1[{{.*}}], read, locality<2>
    // CHECK-COUNT-28: vpdpbusd
    // CHECK-COUNT-2: memref.prefetch %arg1[{{.*}}], read, locality<3>
    // CHECK: memref.prefetch %arg1[{{.*}}], read, locality<2>
    // CHECK-COUNT-28: vpdpbusd
    scf.for %i = %c0 to %c56 step %c14 {
      %tile = memref.subview %rows[%i, 0] [14, 832] [1, 1] : memref<56x832xi8> to memref<14x832xi8, strided<[832, 1], offset: ?>>
      attn_cpu.quantized_matmul %tile, %panel, %dest depth 768 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
        : memref<14x832xi8, strided<[832, 1], offset: ?>>, memref<1x24640xi8>, memref<14x32xf32>
      %written = memref.subview %output[%i, 0] [14, 32] [1, 1] : memref<56x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
      memref.copy %dest, %written : memref<14x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
    }
    return
  }

  // CHECK-LABEL: @long_rows
  func.func @long_rows(%rows: memref<56x1600xi8>, %panel: memref<1x49216xi8>, %dest: memref<14x32xf32>) {
    %c0 = arith.constant 0 : index
    %c14 = arith.constant 14 : index
    %c56 = arith.constant 56 : index
    // CHECK: %[[TILE:.*]] = memref.subview %arg0
    // CHECK: scf.for
    // CHECK-COUNT-7: memref.prefetch %[[TILE]][{{.*}}], read, locality<3>
    // CHECK-NOT: memref.prefetch %[[TILE]]
    // CHECK: vpdpbusd
    scf.for %i = %c0 to %c56 step %c14 {
      %tile = memref.subview %rows[%i, 0] [14, 1600] [1, 1] : memref<56x1600xi8> to memref<14x1600xi8, strided<[1600, 1], offset: ?>>
      attn_cpu.quantized_matmul %tile, %panel, %dest depth 1536 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
        : memref<14x1600xi8, strided<[1600, 1], offset: ?>>, memref<1x49216xi8>, memref<14x32xf32>
    }
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, unrolled_steps = 32>
// One group of the whole depth: integers to the end, four chains for a single row, then scales.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @chains
  func.func @chains(%rows: memref<1x128xi8>, %panel: memref<1x2112xi8>, %dest: memref<1x32xf32>) {
    // CHECK: scf.for
    // CHECK-COUNT-8: vpdpbusd
    // CHECK-NOT: vpdpbusd
    // CHECK: arith.sitofp
    // CHECK-NOT: vector.fma
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<1x2112xi8>, memref<1x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, group_rows = 7, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 7, unrolled_steps = 32>
// 4-bit weights: high nibbles are unpacked by an AND, low nibbles by a shift and an AND; a group of a single row is unrolled.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @nibbles
  func.func @nibbles(%rows: memref<1x128xi8>, %panel: memref<2x640xi8>, %dest: memref<1x32xf32>) {
    // The zero points of the group times its sum of values.
    // CHECK: vector.load %arg1{{.*}} vector<16xi8>
    // CHECK: arith.extui
    // CHECK: arith.muli {{.*}} : vector<16xi32>
    // CHECK: arith.shli {{.*}} : vector<16xi32>
    // CHECK: arith.andi {{.*}} : vector<16xi32>
    // CHECK-COUNT-16: vpdpbusd
    // CHECK: arith.sitofp
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0 zero_points = true> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<2x640xi8>, memref<1x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 8, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 4, unrolled_steps = 32>
// Without int8 dot products: dot products of 16-bit integers, in vectors of 128 bits.
module attributes {attn.target = {vector_bytes = 16 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @pairs
  func.func @pairs(%rows: memref<1x128xi8>, %panel: memref<1x2112xi8>, %dest: memref<1x32xf32>) {
    // CHECK-NOT: call_intrinsic
    // CHECK: arith.extsi {{.*}} : vector<8xi16> to vector<8xi32>
    // CHECK: vector.shuffle {{.*}} [0, 2, 4, 6]
    // CHECK: vector.shuffle {{.*}} [1, 3, 5, 7]
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<1x2112xi8>, memref<1x32xf32>
    return
  }
  // A rounding is fused with its cast to integers; a cast without a rounding stays.
  // CHECK-LABEL: @round
  func.func @round(%x: vector<4xf32>) -> (vector<4xi32>, vector<4xi32>) {
    // CHECK: llvm.intr.lrint
    // CHECK-NOT: math.roundeven
    %0 = math.roundeven %x : vector<4xf32>
    %1 = arith.fptosi %0 : vector<4xf32> to vector<4xi32>
    // CHECK: arith.fptosi %arg0
    %2 = arith.fptosi %x : vector<4xf32> to vector<4xi32>
    return %1, %2 : vector<4xi32>, vector<4xi32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, group_rows = 7, matrix_rows = 16, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 7, unrolled_steps = 32>
// AMX: signed rows times the unsigned panel, whose lines are 128 bytes apart; then each row is scaled.
module attributes {attn.target = {amx_int8, int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%rows: memref<16x192xi8>, %panel: memref<1x4160xi8>, %dest: memref<16x32xf32>) {
    // CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} memref<16x32xi32>
    // CHECK-COUNT-2: amx.tile_zero : !amx.tile<16x16xi32>
    // CHECK: amx.tile_load %arg1[%{{.*}}, %{{.*}}], %c128
    // CHECK: amx.tile_muli %{{.*}}, %{{.*}} zext, %{{.*}} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    // CHECK-COUNT-2: amx.tile_store %[[SUMS]]
    // CHECK: scf.for
    // CHECK: vector.load %[[SUMS]]
    // CHECK-NOT: vpdpbusd
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 128 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
      : memref<16x192xi8>, memref<1x4160xi8>, memref<16x32xf32>
    return
  }

  // Near miss: several groups, which are scaled in between.
  // CHECK-LABEL: @grouped
  func.func @grouped(%rows: memref<16x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<16x32xf32>) {
    // CHECK-NOT: amx
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #kernel}
      : memref<16x128xi8>, memref<2x1088xi8>, memref<16x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, group_rows = 7, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 7, unrolled_steps = 32>
// A single row streams the panel: each step prefetches two lines, 16 KiB ahead.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @stream
  func.func @stream(%rows: memref<1x128xi8>, %panel: memref<2x576xi8>, %dest: memref<1x32xf32>) {
    // CHECK: scf.for %[[GROUP:[a-z0-9]*]]
    // CHECK: %[[FIRST:.*]] = arith.addi %[[AT:.*]], %c16384
    // CHECK: memref.prefetch %arg1[%[[GROUP]], %[[FIRST]]], read, locality<3>
    // CHECK: %[[SECOND:.*]] = arith.addi %[[AT]], %c16448
    // CHECK: memref.prefetch %arg1[%[[GROUP]], %[[SECOND]]], read, locality<3>
    // CHECK-COUNT-6: memref.prefetch %arg1
    // CHECK-NOT: memref.prefetch
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<2x576xi8>, memref<1x32xf32>
    return
  }
}
