// RUN: rapt-opt %s --attn-emulate-matrix-instructions --split-input-file | FileCheck %s

// A tile becomes a buffer, and a multiplication updates its accumulator's buffer in place, also where a loop carries the accumulator.
module attributes {attn.target = {amx_bf16, emulated, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @matmul
  // CHECK-NOT: amx
  func.func @matmul(%x: memref<16x64xbf16>, %w: memref<32x64xbf16>, %y: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    // CHECK-DAG: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
    // CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<16x32xbf16>
    // CHECK: vector.store %{{.*}}, %[[SUMS]]
    // CHECK: %[[OUT:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[SUMS]]) -> (memref<16x16xf32>)
    // CHECK: vector.load %arg0
    // CHECK: vector.load %[[ACC]]
    // CHECK-COUNT-2: vector.fma
    // CHECK: vector.store %{{.*}}, %[[ACC]]
    // CHECK: scf.yield %[[ACC]]
    // CHECK: vector.load %[[OUT]]
    // CHECK: vector.store %{{.*}}, %arg2
    %zero = amx.tile_zero : !amx.tile<16x16xf32>
    %sums = scf.for %i = %c0 to %c32 step %c16 iter_args(%acc = %zero) -> (!amx.tile<16x16xf32>) {
      %a = amx.tile_load %x[%c0, %i] : memref<16x64xbf16> into !amx.tile<16x32xbf16>
      %b = amx.tile_load %w[%i, %c0] : memref<32x64xbf16> into !amx.tile<16x32xbf16>
      %next = amx.tile_mulf %a, %b, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
      scf.yield %next : !amx.tile<16x16xf32>
    }
    amx.tile_store %y[%c0, %c0], %sums : memref<16x32xf32>, !amx.tile<16x16xf32>
    return
  }

  // int8: four bytes per lane, signed in the rows and unsigned in the panel.
  // CHECK-LABEL: @bytes
  func.func @bytes(%x: memref<16x64xi8>, %w: memref<1x2048xi8>, %y: memref<16x32xi32>) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    // CHECK: arith.muli %{{.*}}, %c128
    // CHECK-COUNT-4: arith.extsi {{.*}} : i8 to i32
    %zero = amx.tile_zero : !amx.tile<16x16xi32>
    %a = amx.tile_load %x[%c0, %c0] : memref<16x64xi8> into !amx.tile<16x64xi8>
    %b = amx.tile_load %w[%c0, %c0], %c128 : memref<1x2048xi8> into !amx.tile<16x64xi8>
    %sums = amx.tile_muli %a, %b zext, %zero : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    amx.tile_store %y[%c0, %c0], %sums : memref<16x32xi32>, !amx.tile<16x16xi32>
    return
  }

  // The term of odd k is added first.
  // CHECK-LABEL: @dot
  func.func @dot(%sum: vector<16xf32>, %a: vector<32xbf16>, %b: vector<32xbf16>) -> vector<16xf32> {
    // CHECK: %[[SECOND:.*]] = vector.fma %{{.*}}, %{{.*}}, %arg0
    // CHECK: %[[BOTH:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SECOND]]
    // CHECK: return %[[BOTH]]
    %0 = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sum, %a, %b) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
    return %0 : vector<16xf32>
  }

  // Near miss: another instruction.
  // CHECK-LABEL: @other
  func.func @other(%sum: vector<16xi32>, %a: vector<64xi8>, %b: vector<64xi8>) -> vector<16xi32> {
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
    %0 = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sum, %a, %b) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
    return %0 : vector<16xi32>
  }
}

// -----

// Near miss: the target has the instructions.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @there
  func.func @there(%y: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    // CHECK: amx.tile_zero
    %zero = amx.tile_zero : !amx.tile<16x16xf32>
    amx.tile_store %y[%c0, %c0], %zero : memref<16x32xf32>, !amx.tile<16x16xf32>
    return
  }
}
