// RUN: rapt-opt %s --attn-lower-quantized-matmuls --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<columns = 16, group_rows = 2, prefetch = <resident_bytes = 65536, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6, unroll = 4, wide_rows = 1>
// Codes of 4 bits, a byte each: a loop over halves of the columns and one over parts of 6 rows. Eight terms of a group of 32 rows are added in 16 bits, by 7
// additions, and only then in 32. f32 sums lie in two buffers that alternate.
module attributes {attn.target = {int8_pairs, vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @unpacked
  func.func @unpacked(%rows: memref<12x128xi8>, %panel: memref<4x576xi8>, %dest: memref<12x32xf32>) {
    // CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} memref<12x16xf32>
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK-COUNT-12: vector.store {{.*}}, %[[SUMS]]
    // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %c0{{.*}}, %{{.*}} = %c6
    // CHECK: memref.prefetch %arg1
    // CHECK-COUNT-2: vector.load %arg1{{.*}} vector<32xi8>
    // CHECK-NOT: vector.load %arg1
    // CHECK-NOT: arith.andi
    // CHECK-COUNT-12: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
    // CHECK-NOT: pmadd.wd
    // CHECK-COUNT-84: arith.addi {{.*}} : vector<16xi16>
    // CHECK-NOT: arith.addi {{.*}} : vector<16xi16>
    // CHECK: arith.shrsi {{.*}} : vector<8xi32>
    // CHECK: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
    // CHECK: arith.addi {{.*}} : vector<8xi32>
    // CHECK: vector.load %[[SUMS]]
    // CHECK: vector.fma
    // CHECK: vector.store {{.*}}, %[[SUMS]]
    // CHECK-COUNT-10: pmadd.wd
    // CHECK-NOT: pmadd
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> unpacked {attn.schedule = #kernel}
      : memref<12x128xi8>, memref<4x576xi8>, memref<12x32xf32>
    return
  }

  // Two blocks of a group of 64: each is widened after 32 rows. 7 rows are parts of 3 and 4.
  // CHECK-LABEL: @blocks
  func.func @blocks(%rows: memref<7x192xi8>, %panel: memref<2x1152xi8>, %dest: memref<7x32xf32>) {
    // CHECK: arith.extui {{.*}} vector<8xi8> to vector<8xi32>
    // CHECK: arith.muli {{.*}} : vector<8xi32>
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c2{{.*}} iter_args
    // CHECK-COUNT-48: pmadd.ub.sw
    // CHECK-NOT: pmadd.ub.sw
    // CHECK-COUNT-6: pmadd.wd
    // CHECK-NOT: pmadd.wd
    // CHECK: vector.fma
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c2{{.*}} iter_args
    // CHECK-COUNT-64: pmadd.ub.sw
    // CHECK-NOT: pmadd.ub.sw
    // CHECK-COUNT-8: pmadd.wd
    // CHECK-NOT: pmadd
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 128 of !attn.quantized<u4 group 64 axis 0 zero_points = true> {attn.schedule = #kernel}
      : memref<7x192xi8>, memref<2x1152xi8>, memref<7x32xf32>
    return
  }

  // A single row and two panels: a group of one, then of the other; eight sums of f32 are carried.
  // CHECK-LABEL: @side_by_side
  func.func @side_by_side(%rows: memref<1x128xi8>, %panels: memref<2x2x576xi8>, %dest: memref<1x64xf32>) {
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c2{{.*}} iter_args
    // CHECK: memref.prefetch %arg1[%c0{{[_0-9]*}}, %arg3,
    // CHECK-COUNT-4: vector.load %arg1[%c0{{[_0-9]*}}, %arg3, %{{[^]]*}}] : memref<2x2x576xi8>, vector<32xi8>
    // CHECK-COUNT-4: vector.fma
    // CHECK: memref.prefetch %arg1[%c1{{[_0-9]*}}, %arg3,
    // CHECK-COUNT-4: vector.load %arg1[%c1{{[_0-9]*}}, %arg3, %{{[^]]*}}] : memref<2x2x576xi8>, vector<32xi8>
    // CHECK-COUNT-4: vector.fma
    // CHECK: scf.yield
    // CHECK-COUNT-8: vector.store {{.*}} vector<8xf32>
    // CHECK-NOT: vector.store
    attn_cpu.quantized_matmul %rows, %panels, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<2x2x576xi8>, memref<1x64xf32>
    return
  }

  // A single row takes all 32 columns: no loop over halves, nibbles are unpacked in registers, f32 sums are carried.
  // CHECK-LABEL: @row
  func.func @row(%rows: memref<1x128xi8>, %panel: memref<2x576xi8>, %dest: memref<1x32xf32>) {
    // CHECK-NOT: memref.alloca
    // CHECK: scf.for {{.*}} iter_args
    // CHECK-COUNT-2: memref.prefetch %arg1
    // CHECK-COUNT-4: vector.load %arg1{{.*}} vector<32xi8>
    // CHECK-COUNT-4: arith.andi {{.*}} : vector<32xi8>
    // CHECK-COUNT-4: pmadd.ub.sw
    // CHECK: arith.shrui {{.*}} : vector<16xi16>
    // CHECK: arith.andi {{.*}} : vector<32xi8>
    // CHECK-COUNT-28: pmadd.ub.sw
    // CHECK-NOT: pmadd.ub.sw
    // CHECK-COUNT-4: pmadd.wd
    // CHECK-NOT: scf.for
    // CHECK-COUNT-4: vector.store
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> {attn.schedule = #kernel}
      : memref<1x128xi8>, memref<2x576xi8>, memref<1x32xf32>
    return
  }

  // 8 bits, 6 rows in words: a quarter of the columns, two partial sums for each, which are added at the end; four steps an iteration.
  // CHECK-LABEL: @words
  func.func @words(%rows: memref<6x192xi8>, %panel: memref<1x2112xi8>, %dest: memref<6x32xf32>) {
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c4{{.*}} step %c1
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c16{{.*}} step %c4{{.*}} iter_args
    // CHECK-COUNT-2: arith.extui {{.*}} : vector<16xi8> to vector<16xi16>
    // CHECK-COUNT-12: pmadd.wd
    // CHECK-COUNT-2: arith.extui
    // CHECK-COUNT-36: pmadd.wd
    // CHECK-NOT: pmadd.wd
    // CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
    // CHECK: vector.shuffle {{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 0 axis 0> words {attn.schedule = #kernel}
      : memref<6x192xi8>, memref<1x2112xi8>, memref<6x32xf32>
    return
  }

  // Two rows leave registers for half of the columns. The 8 steps of a group of 32 rows are no loop, and begin without zeros.
  // CHECK-LABEL: @few_words
  func.func @few_words(%rows: memref<2x192xi8>, %panel: memref<2x1088xi8>, %dest: memref<2x32xf32>) {
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c2{{.*}} step %c1
    // CHECK: scf.for {{.*}} = %c0{{.*}} to %c2{{.*}} iter_args
    // CHECK-COUNT-4: arith.extui {{.*}} : vector<16xi8> to vector<16xi16>
    // CHECK-COUNT-64: pmadd.wd
    // CHECK-NOT: scf.for
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> words {attn.schedule = #kernel}
      : memref<2x192xi8>, memref<2x1088xi8>, memref<2x32xf32>
    return
  }

  // Near miss: rows in bytes of a weight of 8 bits, which pieces of words multiply.
  // CHECK-LABEL: @pieces
  func.func @pieces(%rows: memref<3x128xi8>, %panel: memref<1x2112xi8>, %dest: memref<3x32xf32>) {
    // CHECK-NOT: call_intrinsic
    // CHECK: arith.extsi
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 0 axis 0> {attn.schedule = #kernel}
      : memref<3x128xi8>, memref<1x2112xi8>, memref<3x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, group_rows = 3, prefetch = <resident_bytes = 65536, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6, unroll = 4, wide_rows = 1>
// vpdpbusd on 32 bytes: the same tiles, sums of a group begin with the correction.
module attributes {attn.target = {int8_dot, vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @dot
  func.func @dot(%rows: memref<12x128xi8>, %panel: memref<4x576xi8>, %dest: memref<12x32xf32>) {
    // CHECK: arith.shrsi
    // CHECK-NOT: muli {{.*}} : vector
    // CHECK: scf.for {{.*}} iter_args
    // CHECK-COUNT-48: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
    // CHECK-NOT: vpdpbusd
    // CHECK-COUNT-12: vector.fma
    // CHECK-NOT: vector.fma
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> unpacked {attn.schedule = #kernel}
      : memref<12x128xi8>, memref<4x576xi8>, memref<12x32xf32>
    return
  }
}
