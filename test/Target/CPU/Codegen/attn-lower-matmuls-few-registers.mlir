// RUN: rapt-opt %s --attn-lower-matmuls --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, unroll = 4, wide_rows = 3>
#pairs = #attn_cpu.micro_kernel<columns = 16, rows = 6, unroll = 4, vnni_rows = 5, wide_rows = 2>
#streams = #attn_cpu.micro_kernel<columns = 16, prefetch = <resident_bytes = 65536, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6, unroll = 4, wide_rows = 3>
// An iteration for several rows has four steps, each of which adds to the sums of the one before it: 4 x 12 multiply-adds for half of a panel's columns. They read views of four
// steps, so that one register has the address of each.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @unrolled
  func.func @unrolled(%a: memref<6x64xf32>, %b: memref<64x32xf32>, %c: memref<6x32xf32>) {
    // CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c64{{.*}} step %c4{{[_0-9]*}} iter_args(%[[FIRST:[a-z0-9]*]] =
    // CHECK: memref.subview %arg0[%c0{{[_0-9]*}}, %[[K]]] [6, 4]
    // CHECK: memref.subview %arg1[%[[K]], %c0{{[_0-9]*}}] [4, 32]
    // CHECK: %[[SUM:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[FIRST]] : vector<8xf32>
    // CHECK-COUNT-11: vector.fma
    // CHECK: vector.fma %{{.*}}, %{{.*}}, %[[SUM]] : vector<8xf32>
    // CHECK-COUNT-35: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK: scf.yield
    // CHECK: scf.for
    // CHECK-COUNT-48: vector.fma
    // CHECK-NOT: vector.fma
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<6x64xf32>, memref<64x32xf32>) outs(%c : memref<6x32xf32>)
    return
  }

  // Packed rows, [k, m]: the elements of a step lie beside each other.
  // CHECK-LABEL: @packed
  func.func @packed(%a: memref<64x6xf32>, %b: memref<64x32xf32>, %c: memref<6x32xf32>) {
    // CHECK: %[[ROWS:.*]] = memref.transpose %arg0 (d0, d1) -> (d1, d0) : memref<64x6xf32> to memref<6x64xf32, strided<[1, 6]>>
    // CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c64{{.*}} step %c4
    // CHECK: memref.subview %[[ROWS]][%c0{{[_0-9]*}}, %[[K]]] [6, 4] [1, 1] : memref<6x64xf32, strided<[1, 6]>>
    // CHECK-COUNT-48: vector.fma
    linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] {attn.schedule = #kernel}
      ins(%a, %b : memref<64x6xf32>, memref<64x32xf32>) outs(%c : memref<6x32xf32>)
    return
  }

  // A depth that four does not divide is not unrolled.
  // CHECK-LABEL: @odd_depth
  func.func @odd_depth(%a: memref<6x66xf32>, %b: memref<66x32xf32>, %c: memref<6x32xf32>) {
    // CHECK: scf.for {{.*}} step %c1
    // CHECK-NOT: memref.subview
    // CHECK-COUNT-12: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK: scf.yield
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<6x66xf32>, memref<66x32xf32>) outs(%c : memref<6x32xf32>)
    return
  }

  // Few rows read whole lines of the panel in one pass: 3 x 4 accumulators.
  // CHECK-LABEL: @whole_lines
  func.func @whole_lines(%a: memref<3x66xf32>, %b: memref<66x32xf32>, %c: memref<3x32xf32>) {
    // CHECK: scf.for
    // CHECK-COUNT-4: vector.transfer_read %arg1{{.*}} vector<8xf32>
    // CHECK-COUNT-12: vector.fma
    // CHECK-NOT: scf.for
    // CHECK: return
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<3x66xf32>, memref<66x32xf32>) outs(%c : memref<3x32xf32>)
    return
  }

  // A single row reads three panels side by side, whole lines of each, and prefetches none of them: 3 x 4 accumulators.
  // CHECK-LABEL: @three_panels
  func.func @three_panels(%a: memref<1x64xf32>, %b: memref<3x64x32xf32>, %c: memref<1x96xf32>) {
    // CHECK: scf.for {{.*}} to %c64{{.*}} step %c4
    // CHECK: %[[STEPS:.*]] = memref.subview %arg1[0, %{{.*}}] [3, 4, 32]
    // CHECK-COUNT-4: vector.transfer_read %[[STEPS]][%c0
    // CHECK-COUNT-4: vector.transfer_read %[[STEPS]][%c1
    // CHECK-COUNT-4: vector.transfer_read %[[STEPS]][%c2
    // CHECK-NOT: memref.prefetch
    // CHECK-COUNT-37: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK-NOT: scf.for
    // CHECK: return
    attn_cpu.panel_matmul %a, %b, %c {attn.schedule = #streams} : memref<1x64xf32>, memref<3x64x32xf32>, memref<1x96xf32>
    return
  }

  // An operand of panels of bf16 is widened right before its multiply-adds: 12 accumulators leave no registers to keep those of all vectors.
  // CHECK-LABEL: @three_panels_of_pairs
  func.func @three_panels_of_pairs(%a: memref<1x64xf32>, %b: memref<3x32x64xbf16>, %c: memref<1x96xf32>) {
    // CHECK: scf.for {{.*}} step %c4
    // CHECK: vector.transfer_read %{{.*}} vector<16xbf16>
    // CHECK: vector.fma
    // CHECK-NEXT: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK: vector.transfer_read %{{.*}} vector<16xbf16>
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #pairs} : memref<1x64xf32>, memref<3x32x64xbf16>, memref<1x96xf32>
    return
  }

  // Near miss: two rows take one panel after the other.
  // CHECK-LABEL: @panel_by_panel
  func.func @panel_by_panel(%a: memref<2x64xf32>, %b: memref<3x64x32xf32>, %c: memref<2x96xf32>) {
    // CHECK: scf.for {{.*}} to %c3{{.*}} step %c1
    // CHECK: memref.subview
    // CHECK: scf.for
    // CHECK-COUNT-32: vector.fma
    // CHECK-NOT: vector.fma
    // CHECK: return
    attn_cpu.panel_matmul %a, %b, %c {attn.schedule = #streams} : memref<2x64xf32>, memref<3x64x32xf32>, memref<2x96xf32>
    return
  }

  // One row more takes its columns in two passes.
  // CHECK-LABEL: @half_lines
  func.func @half_lines(%a: memref<4x66xf32>, %b: memref<66x32xf32>, %c: memref<4x32xf32>) {
    // CHECK-COUNT-2: scf.for
    // CHECK: return
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<4x66xf32>, memref<66x32xf32>) outs(%c : memref<4x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, prefetch = <resident_bytes = 65536, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6, unroll = 4>
// An iteration of four steps prefetches each step's line of the panel, and one line of the next panel. The two halves of 6 x 2 rows share the next panel's lines: they are tiles 0 to 3 of 4 an iteration.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @next_panel
  func.func @next_panel(%x: memref<120x64xf32>, %w: memref<4x64x32xf32>, %y: memref<120x32xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c12 = arith.constant 12 : index
    %c120 = arith.constant 120 : index
    %panel = memref.subview %w[%n, 0, 0] [1, 64, 32] [1, 1, 1] : memref<4x64x32xf32> to memref<64x32xf32, strided<[32, 1], offset: ?>>
    // CHECK: %[[TILES:.*]] = arith.ceildivui %c120
    // CHECK: %[[ALL:.*]] = arith.muli %[[TILES]], %c4
    // CHECK: %[[FEW:.*]] = arith.maxui %[[ALL]], %c8
    // CHECK: %[[MANY:.*]] = arith.minui %[[FEW]], %c8
    // CHECK: %[[SPREAD:.*]] = arith.divui %c32{{.*}}, %[[MANY]]
    // CHECK: %[[STEP:.*]] = arith.muli %[[SPREAD]], %c4
    scf.for %r = %c0 to %c120 step %c12 {
      %rows = memref.subview %x[%r, 0] [12, 64] [1, 1] : memref<120x64xf32> to memref<12x64xf32, strided<[64, 1], offset: ?>>
      %out = memref.subview %y[%r, 0] [12, 32] [1, 1] : memref<120x32xf32> to memref<12x32xf32, strided<[32, 1], offset: ?>>
      // CHECK: scf.for {{.*}} step %c12
      // CHECK: scf.for {{.*}} step %c16
      // CHECK: scf.for {{.*}} step %c4{{[_0-9]*}} iter_args({{.*}}%[[AT:[a-z0-9]*]] = %{{[a-z0-9]*}})
      // CHECK: memref.prefetch {{.*}}, read, locality<3>
      // CHECK: memref.prefetch %{{.*}}[%c0{{.*}}, %[[AT]]], read, locality<2>
      // CHECK: arith.addi %[[AT]], %[[STEP]]
      // CHECK-COUNT-12: vector.fma
      // CHECK: memref.prefetch {{.*}}, read, locality<3>
      // CHECK-NOT: memref.prefetch
      // CHECK: vector.fma
      linalg.matmul {attn.schedule = #kernel} ins(%rows, %panel : memref<12x64xf32, strided<[64, 1], offset: ?>>, memref<64x32xf32, strided<[32, 1], offset: ?>>) outs(%out : memref<12x32xf32, strided<[32, 1], offset: ?>>)
    }
    return
  }
}
