// RUN: rapt-opt %s --attn-lower-matmuls --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>
// 32 registers of 512 bits: one tile of 8 rows by two vectors, which starts from zero without a read of the result.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @wide
  func.func @wide(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK-NOT: linalg.fill
    // CHECK-NOT: vector.transfer_read %arg2
    // CHECK: scf.for
    // CHECK-COUNT-2: vector.transfer_read %arg1
    // CHECK-COUNT-16: vector.fma {{.*}} : vector<16xf32>
    // CHECK-NOT: vector.fma
    linalg.fill ins(%f0 : f32) outs(%c : memref<8x32xf32>)
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 16, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 6>
// 16 registers of 256 bits: four tiles of 4 rows by two vectors; without a fill the result is read.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @narrow
  func.func @narrow(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
    // CHECK-COUNT-8: vector.transfer_read {{.*}} vector<8xf32>
    // CHECK: scf.for
    // CHECK-COUNT-8: vector.fma {{.*}} : vector<8xf32>
    // CHECK-NOT: vector.fma
    // CHECK: scf.yield
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: scf.for
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// One row: four chains of accumulators, and 16-bit weights widened as they are loaded.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @row
  func.func @row(%a: memref<1x64xf32>, %b: memref<64x32xbf16>, %c: memref<1x32xf32>) {
    // CHECK: scf.for {{.*}} step %c4
    // CHECK: vector.transfer_read %arg1{{.*}} vector<16xbf16>
    // CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
    // CHECK-COUNT-8: vector.fma
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<1x64xf32>, memref<64x32xbf16>) outs(%c : memref<1x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>
// A fill that does not directly precede the matmul becomes vectors, and the result is read.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @written_between
  func.func @written_between(%a: memref<2x64xf32>, %b: memref<64x32xf32>, %c: memref<2x32xf32>, %x: f32, %i: index) {
    %f0 = arith.constant 0.0 : f32
    // CHECK: vector.transfer_write {{.*}} vector<2x32xf32>, memref<2x32xf32>
    // CHECK: memref.store
    // CHECK-COUNT-4: vector.transfer_read %arg2
    // CHECK: scf.for
    linalg.fill ins(%f0 : f32) outs(%c : memref<2x32xf32>)
    memref.store %x, %c[%i, %i] : memref<2x32xf32>
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<2x64xf32>, memref<64x32xf32>) outs(%c : memref<2x32xf32>)
    return
  }

  // A fill that is not zero becomes vectors, too.
  // CHECK-LABEL: @from_one
  func.func @from_one(%a: memref<2x64xf32>, %b: memref<64x32xf32>, %c: memref<2x32xf32>) {
    %f1 = arith.constant 1.0 : f32
    // CHECK: vector.transfer_write {{.*}} vector<2x32xf32>, memref<2x32xf32>
    // CHECK-COUNT-4: vector.transfer_read %arg2
    linalg.fill ins(%f1 : f32) outs(%c : memref<2x32xf32>)
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<2x64xf32>, memref<64x32xf32>) outs(%c : memref<2x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// Tiles of at least 5 rows prefetch. Every step prefetches the panel's steps to come and a share of the next panel, 64 rows of [k, 32] later, so that all tiles
// of rows together reach its end. Every 16 steps prefetch one row of the epilogue's operand.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @prefetch
  func.func @prefetch(%x: memref<56x64xf32>, %w: memref<4x64x32xf32>, %y: memref<56x32xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c14 = arith.constant 14 : index
    %c56 = arith.constant 56 : index
    // CHECK: %[[SUMS:.*]] = memref.alloca
    %sums = memref.alloca() : memref<14x32xf32>
    // CHECK: %[[PANEL:.*]] = memref.subview %arg1
    // CHECK: %[[TILES:.*]] = arith.ceildivui %c56
    // CHECK: %[[FEW:.*]] = arith.maxui %[[TILES]], %c2
    // CHECK: %[[MANY:.*]] = arith.minui %[[FEW]], %c8
    // CHECK: %[[SPREAD:.*]] = arith.divui %c32{{.*}}, %[[MANY]]
    // CHECK: %[[NEXT:.*]] = memref.subview %[[PANEL]][%c64{{.*}}, %c0{{.*}}]
    %panel = memref.subview %w[%n, 0, 0] [1, 64, 32] [1, 1, 1] : memref<4x64x32xf32> to memref<64x32xf32, strided<[32, 1], offset: ?>>
    scf.for %r = %c0 to %c56 step %c14 {
      %rows = memref.subview %x[%r, 0] [14, 64] [1, 1] : memref<56x64xf32> to memref<14x64xf32, strided<[64, 1], offset: ?>>
      // CHECK: scf.for %[[ROW:.*]] = %c0 to %c56 step %c14
      // CHECK: %[[OUT:.*]] = memref.subview %arg2
      %out = memref.subview %y[%r, 0] [14, 32] [1, 1] : memref<56x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
      // CHECK: scf.for %[[K:.*]] = {{.*}} step %c16
      // CHECK: %[[NTH:.*]] = arith.divui %[[ROW]], %c14
      // CHECK: %[[REACHED:.*]] = arith.minui %[[NTH]]
      // CHECK: %[[DONE:.*]] = arith.muli %[[REACHED]], %c64
      // CHECK: %[[STEPS:.*]] = arith.addi %[[DONE]], %[[K]]
      // CHECK: %[[ELEMENT:.*]] = arith.muli %[[STEPS]], %[[SPREAD]]
      // CHECK-COUNT-2: memref.prefetch %[[OUT]]{{.*}}, write, locality<3>
      // CHECK: %[[CHUNK:.*]] = memref.subview %[[PANEL]][%[[K]], %{{.*}}] [16, 32]
      // CHECK: scf.for {{.*}} %c16{{.*}} step %c1{{.*}} %[[AT:[a-z0-9]*]] = %[[ELEMENT]])
      // CHECK-COUNT-2: memref.prefetch %[[CHUNK]]{{.*}}, read, locality<3>
      // CHECK: memref.prefetch %[[NEXT]][%c0{{.*}}, %[[AT]]], read, locality<2>
      // CHECK: arith.addi %[[AT]], %[[SPREAD]]
      // CHECK-NOT: memref.prefetch
      // CHECK-COUNT-28: vector.fma
      linalg.matmul {attn.schedule = #kernel} ins(%rows, %panel : memref<14x64xf32, strided<[64, 1], offset: ?>>, memref<64x32xf32, strided<[32, 1], offset: ?>>) outs(%sums : memref<14x32xf32>)
      %s = memref.load %sums[%c0, %c0] : memref<14x32xf32>
      memref.store %s, %out[%c0, %c0] : memref<14x32xf32, strided<[32, 1], offset: ?>>
    }
    return
  }

  // With k-blocking the next panel's block of the same k is prefetched; behind the task's last panel the next k block of its first one; behind the last k
  // block the panel of the next task.
  // CHECK-LABEL: @parts
  func.func @parts(%x: memref<56x128xf32>, %w: memref<4x128x32xf32>, %y: memref<56x128xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c14 = arith.constant 14 : index
    %c32 = arith.constant 32 : index
    %c56 = arith.constant 56 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    // CHECK: scf.for %[[FROM:.*]] = %c0 to %c128 step %c64
    // CHECK: scf.for %[[P:.*]] = %c0 to %arg3 step %c1
    // CHECK: %[[PANEL:.*]] = memref.subview %arg1
    // CHECK: %[[BEFORE:.*]] = arith.muli %[[P]], %c128
    // CHECK: %[[BACK:.*]] = arith.subi %c64{{.*}}, %[[BEFORE]]
    // CHECK: %[[END:.*]] = arith.addi %[[FROM]], %c64
    // CHECK: %[[ENDS:.*]] = arith.cmpi eq, %[[END]], %c128
    // CHECK: %[[REST:.*]] = arith.subi %c128{{.*}}, %[[FROM]]
    // CHECK: %[[BEHIND:.*]] = arith.select %[[ENDS]], %[[REST]], %[[BACK]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[P]], %c1
    // CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[NEXT]], %arg3
    // CHECK: %[[DISTANCE:.*]] = arith.select %[[LAST]], %[[BEHIND]], %c128
    // CHECK: %[[AFTER:.*]] = memref.subview %[[PANEL]][%[[DISTANCE]], %{{.*}}]
    // CHECK: scf.for {{.*}} step %c14
    // CHECK: memref.prefetch %[[AFTER]][%c0{{.*}}, %{{.*}}], read, locality<2>
    scf.for %from = %c0 to %c128 step %c64 {
      scf.for %p = %c0 to %n step %c1 {
        %panel = memref.subview %w[%p, %from, 0] [1, 64, 32] [1, 1, 1] : memref<4x128x32xf32> to memref<64x32xf32, strided<[32, 1], offset: ?>>
        %column = arith.muli %p, %c32 : index
        scf.for %r = %c0 to %c56 step %c14 {
          %rows = memref.subview %x[%r, %from] [14, 64] [1, 1] : memref<56x128xf32> to memref<14x64xf32, strided<[128, 1], offset: ?>>
          %out = memref.subview %y[%r, %column] [14, 32] [1, 1] : memref<56x128xf32> to memref<14x32xf32, strided<[128, 1], offset: ?>>
          linalg.matmul {attn.schedule = #kernel} ins(%rows, %panel : memref<14x64xf32, strided<[128, 1], offset: ?>>, memref<64x32xf32, strided<[32, 1], offset: ?>>) outs(%out : memref<14x32xf32, strided<[128, 1], offset: ?>>)
        }
      }
    }
    return
  }

  // The panel after a widened one is prefetched in its storage type: one tile alone prefetches a line per step.
  // CHECK-LABEL: @widened
  func.func @widened(%x: memref<56x64xf32>, %w: memref<4x32x64xbf16>, %y: memref<56x32xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c14 = arith.constant 14 : index
    %c32 = arith.constant 32 : index
    %c56 = arith.constant 56 : index
    %padding = arith.constant 0.0 : bf16
    %wide = memref.alloca() : memref<64x32xf32>
    // CHECK: %[[STORED:.*]] = memref.subview %arg1
    %panel = memref.subview %w[%n, 0, 0] [1, 32, 64] [1, 1, 1] : memref<4x32x64xbf16> to memref<32x64xbf16, strided<[64, 1], offset: ?>>
    scf.for %k = %c0 to %c32 step %c1 {
      %pairs = vector.transfer_read %panel[%k, %c0], %padding {in_bounds = [true]} : memref<32x64xbf16, strided<[64, 1], offset: ?>>, vector<64xbf16>
      %words = vector.bitcast %pairs : vector<64xbf16> to vector<32xf32>
      vector.transfer_write %words, %wide[%k, %c0] {in_bounds = [true]} : vector<32xf32>, memref<64x32xf32>
    }
    // CHECK: %[[FEW:.*]] = arith.maxui %{{.*}}, %c1
    // CHECK: arith.minui %[[FEW]], %c8
    // CHECK: %[[NEXT:.*]] = memref.subview %[[STORED]][%c32{{.*}}, %{{.*}}] [32, 64]
    // CHECK: scf.for {{.*}} step %c14
    // CHECK: memref.prefetch %[[NEXT]][%c0{{.*}}, %{{.*}}], read, locality<2>
    scf.for %r = %c0 to %c56 step %c14 {
      %rows = memref.subview %x[%r, 0] [14, 64] [1, 1] : memref<56x64xf32> to memref<14x64xf32, strided<[64, 1], offset: ?>>
      %out = memref.subview %y[%r, 0] [14, 32] [1, 1] : memref<56x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
      linalg.matmul {attn.schedule = #kernel} ins(%rows, %wide : memref<14x64xf32, strided<[64, 1], offset: ?>>, memref<64x32xf32>) outs(%out : memref<14x32xf32, strided<[32, 1], offset: ?>>)
    }
    return
  }

  // Near miss: the widening loop reads views of lines, not the panel.
  // CHECK-LABEL: @widened_by_line
  func.func @widened_by_line(%x: memref<56x64xf32>, %w: memref<32x64xbf16>, %y: memref<56x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c14 = arith.constant 14 : index
    %c32 = arith.constant 32 : index
    %c56 = arith.constant 56 : index
    %padding = arith.constant 0.0 : bf16
    %wide = memref.alloca() : memref<64x32xf32>
    scf.for %k = %c0 to %c32 step %c1 {
      %line = memref.subview %w[%k, 0] [1, 64] [1, 1] : memref<32x64xbf16> to memref<1x64xbf16, strided<[64, 1], offset: ?>>
      %pairs = vector.transfer_read %line[%c0, %c0], %padding {in_bounds = [true]} : memref<1x64xbf16, strided<[64, 1], offset: ?>>, vector<64xbf16>
      %words = vector.bitcast %pairs : vector<64xbf16> to vector<32xf32>
      vector.transfer_write %words, %wide[%k, %c0] {in_bounds = [true]} : vector<32xf32>, memref<64x32xf32>
    }
    // CHECK-NOT: locality<2>
    // CHECK: return
    scf.for %r = %c0 to %c56 step %c14 {
      %rows = memref.subview %x[%r, 0] [14, 64] [1, 1] : memref<56x64xf32> to memref<14x64xf32, strided<[64, 1], offset: ?>>
      %out = memref.subview %y[%r, 0] [14, 32] [1, 1] : memref<56x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
      linalg.matmul {attn.schedule = #kernel} ins(%rows, %wide : memref<14x64xf32, strided<[64, 1], offset: ?>>, memref<64x32xf32>) outs(%out : memref<14x32xf32, strided<[32, 1], offset: ?>>)
    }
    return
  }

  // The next panel of a row-major matrix: every 16 steps prefetch two of its rows.
  // CHECK-LABEL: @plain
  func.func @plain(%x: memref<56x64xf32>, %w: memref<64x256xf32>, %y: memref<56x32xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c14 = arith.constant 14 : index
    %c56 = arith.constant 56 : index
    // CHECK: %[[PANEL:.*]] = memref.subview %arg1
    %panel = memref.subview %w[0, %n] [64, 32] [1, 1] : memref<64x256xf32> to memref<64x32xf32, strided<[256, 1], offset: ?>>
    scf.for %r = %c0 to %c56 step %c14 {
      %rows = memref.subview %x[%r, 0] [14, 64] [1, 1] : memref<56x64xf32> to memref<14x64xf32, strided<[64, 1], offset: ?>>
      %out = memref.subview %y[%r, 0] [14, 32] [1, 1] : memref<56x32xf32> to memref<14x32xf32, strided<[32, 1], offset: ?>>
      // CHECK: scf.for {{.*}} step %c16
      // CHECK: arith.minui %{{.*}}, %c62
      // CHECK: memref.prefetch %[[PANEL]][%{{.*}}, %c32{{.*}}], read, locality<2>
      // CHECK-COUNT-3: memref.prefetch %[[PANEL]]{{.*}}, read, locality<2>
      // CHECK: scf.for {{.*}} %c16{{.*}} step %c1
      // CHECK-NOT: memref.prefetch {{.*}}, read, locality<2>
      // CHECK: vector.fma
      linalg.matmul {attn.schedule = #kernel} ins(%rows, %panel : memref<14x64xf32, strided<[64, 1], offset: ?>>, memref<64x32xf32, strided<[256, 1], offset: ?>>) outs(%out : memref<14x32xf32, strided<[32, 1], offset: ?>>)
    }
    return
  }

  // An input tile that does not stay in L1 is prefetched, too; behind the end of its rows, the rows of the next tile.
  // CHECK-LABEL: @long_rows
  func.func @long_rows(%a: memref<8x1024xf32>, %b: memref<1024x32xf32>, %c: memref<8x32xf32>) {
    // CHECK: %[[ENDS:.*]] = arith.cmpi sge, %{{.*}}, %c1024
    // CHECK: %[[ROW:.*]] = arith.select %[[ENDS]], %c8{{.*}}, %c0
    // CHECK: %[[COLUMN:.*]] = arith.select %[[ENDS]]
    // CHECK: %[[ROWS:.*]] = memref.subview %arg0[%[[ROW]], %[[COLUMN]]]
    // CHECK: %[[CHUNK:.*]] = memref.subview %arg1
    // CHECK: scf.for %[[NTH:[a-z0-9]*]]
    // CHECK: memref.prefetch %[[CHUNK]]
    // CHECK: memref.prefetch %[[ROWS]][%[[NTH]], %c0{{.*}}], read, locality<3>
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<8x1024xf32>, memref<1024x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }

  // Four rows are bound by memory: the panel is prefetched 16 KiB ahead, whatever the depth. Near miss: one row, whose loads run far enough ahead by
  // themselves.
  // CHECK-LABEL: @few_rows
  func.func @few_rows(%a: memref<4x40xf32>, %b: memref<40x32xf32>, %c: memref<4x32xf32>, %one: memref<1x40xf32>, %d: memref<1x32xf32>) {
    // CHECK: scf.for %[[K:[a-z0-9]*]]
    // CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c128
    // CHECK: memref.prefetch %arg1[%[[AHEAD]], %c0{{.*}}], read, locality<3>
    // CHECK: memref.prefetch %arg1[%[[AHEAD]], %c16{{.*}}], read, locality<3>
    // CHECK-NOT: memref.prefetch
    // CHECK: return
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<4x40xf32>, memref<40x32xf32>) outs(%c : memref<4x32xf32>)
    linalg.matmul {attn.schedule = #kernel} ins(%one, %b : memref<1x40xf32>, memref<40x32xf32>) outs(%d : memref<1x32xf32>)
    return
  }

  // Near miss: k is no whole number of chunks.
  // CHECK-LABEL: @ragged_depth
  func.func @ragged_depth(%a: memref<8x40xf32>, %b: memref<40x32xf32>, %c: memref<8x32xf32>) {
    // CHECK-NOT: memref.prefetch
    // CHECK: return
    linalg.matmul {attn.schedule = #kernel} ins(%a, %b : memref<8x40xf32>, memref<40x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// VNNI-packed panels are widened by a shift and a mask: 4 multiply-adds per row and step.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @pairs
  func.func @pairs(%a: memref<4x64xf32>, %b: memref<32x64xbf16>, %c: memref<4x32xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK-NOT: vector.transfer_read %arg2
    // CHECK: scf.for {{.*}} %c32{{.*}} step %c1
    // CHECK: memref.prefetch %arg1
    // CHECK-COUNT-2: vector.transfer_read %arg1{{.*}} vector<32xbf16>
    // CHECK-DAG: arith.shli {{.*}} vector<16xi32>
    // CHECK-DAG: arith.andi {{.*}} vector<16xi32>
    // CHECK-COUNT-16: vector.fma
    // CHECK-NOT: vector.fma
    linalg.fill ins(%f0 : f32) outs(%c : memref<4x32xf32>)
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<4x64xf32>, memref<32x64xbf16>, memref<4x32xf32>
    return
  }

  // One row of odd depth: two chains of accumulators, then the first half of the last line. The result is read. Widening makes one row slow enough to
  // need prefetches.
  // CHECK-LABEL: @half_a_pair
  func.func @half_a_pair(%a: memref<1x65xf32>, %b: memref<33x64xbf16>, %c: memref<1x32xf32>) {
    // CHECK-COUNT-2: vector.transfer_read %arg2
    // CHECK: scf.for {{.*}} step %c2
    // CHECK-COUNT-2: memref.prefetch %arg1
    // CHECK-COUNT-4: vector.fma
    // CHECK-COUNT-2: memref.prefetch %arg1
    // CHECK-COUNT-4: vector.fma
    // CHECK: scf.yield
    // CHECK-COUNT-2: vector.fma
    // CHECK-NOT: vector.fma
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<1x65xf32>, memref<33x64xbf16>, memref<1x32xf32>
    return
  }

  // Widening takes registers, so 14 rows are two tiles of 7. Without a bf16 dot product, rows of bf16 are widened, too.
  // CHECK-LABEL: @parts
  func.func @parts(%a: memref<14x64xbf16>, %b: memref<32x64xbf16>, %c: memref<14x32xf32>) {
    // CHECK: scf.for
    // CHECK: vector.load %arg0{{.*}} vector<2xbf16>
    // CHECK: vector.fma
    // CHECK: scf.for
    // CHECK-NOT: scf.for
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<14x64xbf16>, memref<32x64xbf16>, memref<14x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// With bf16 dot products: two loads, 14 broadcasts of 32 bits and 28 dot products per step.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @dot
  func.func @dot(%a: memref<14x64xbf16>, %b: memref<32x64xbf16>, %c: memref<14x32xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK: scf.for {{.*}} %c32{{.*}} step %c1
    // CHECK-COUNT-2: vector.transfer_read %arg1{{.*}} vector<32xbf16>
    // CHECK: vector.load %arg0{{.*}} vector<2xbf16>
    // CHECK: vector.broadcast {{.*}} : i32 to vector<16xi32>
    // CHECK-COUNT-28: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
    // CHECK-NOT: dpbf16ps
    linalg.fill ins(%f0 : f32) outs(%c : memref<14x32xf32>)
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<14x64xbf16>, memref<32x64xbf16>, memref<14x32xf32>
    return
  }

  // Near miss: with rows of f32, panels are widened.
  // CHECK-LABEL: @not_rounded
  func.func @not_rounded(%a: memref<4x64xf32>, %b: memref<32x64xbf16>, %c: memref<4x32xf32>) {
    // CHECK-NOT: dpbf16ps
    // CHECK-COUNT-16: vector.fma
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<4x64xf32>, memref<32x64xbf16>, memref<4x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, matrix_rows = 16, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// AMX tiles of 16 rows by 64 bytes: two of rows times both halves of the panel. The rest of the depth, 3 lines, is a step on copies that zeros fill up.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%a: memref<32x70xbf16>, %b: memref<35x64xbf16>, %c: memref<32x32xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK-COUNT-4: amx.tile_zero : !amx.tile<16x16xf32>
    // CHECK: scf.for {{.*}} to %c32{{.*}} step %c16{{.*}} iter_args
    // CHECK-COUNT-2: amx.tile_load %arg1
    // CHECK: amx.tile_load %arg0
    // CHECK-COUNT-2: amx.tile_mulf
    // CHECK: amx.tile_load %arg0
    // CHECK-COUNT-2: amx.tile_mulf
    // CHECK: scf.yield
    // CHECK-COUNT-32: vector.load %arg0{{.*}} vector<6xbf16>
    // CHECK-COUNT-3: vector.load %arg1{{.*}} vector<64xbf16>
    // CHECK-COUNT-4: amx.tile_mulf
    // CHECK-COUNT-4: amx.tile_store %arg2
    // CHECK-NOT: vector.fma
    linalg.fill ins(%f0 : f32) outs(%c : memref<32x32xf32>)
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<32x70xbf16>, memref<35x64xbf16>, memref<32x32xf32>
    return
  }

  // Near misses: a number of rows that is no multiple of 16, and rows of f32. Panels are widened for both.
  // CHECK-LABEL: @few
  func.func @few(%a: memref<4x64xbf16>, %b: memref<32x64xbf16>, %c: memref<4x32xf32>, %d: memref<16x64xf32>, %e: memref<16x32xf32>) {
    // CHECK-NOT: amx
    // CHECK: vector.fma
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<4x64xbf16>, memref<32x64xbf16>, memref<4x32xf32>
    attn_cpu.vnni_matmul %d, %b, %e {attn.schedule = #kernel} : memref<16x64xf32>, memref<32x64xbf16>, memref<16x32xf32>
    return
  }

  // Without a fill, accumulator tiles are loaded from the result.
  // CHECK-LABEL: @added
  func.func @added(%a: memref<16x64xbf16>, %b: memref<32x64xbf16>, %c: memref<16x32xf32>) {
    // CHECK-COUNT-2: amx.tile_load %arg2
    // CHECK-NOT: amx.tile_zero
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<16x64xbf16>, memref<32x64xbf16>, memref<16x32xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, matrix_rows = 16, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
// Several panels are a loop over panels; AMX takes two at a time for 16 rows, whose four accumulators share the loaded tile of rows. An odd panel is
// alone.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tile_panels
  func.func @tile_panels(%a: memref<16x64xbf16>, %b: memref<3x32x64xbf16>, %c: memref<16x96xf32>) {
    // CHECK: scf.for {{.*}} to %c2{{.*}} step %c2
    // CHECK-COUNT-4: amx.tile_load %{{.*}} : memref<16x64xf32
    // CHECK: scf.for {{.*}} iter_args
    // CHECK: amx.tile_load %arg0
    // CHECK-NOT: amx.tile_load %arg0
    // CHECK-COUNT-4: amx.tile_mulf
    // CHECK: scf.yield
    // CHECK-COUNT-4: amx.tile_store
    // CHECK: scf.for {{.*}} iter_args
    // CHECK-COUNT-2: amx.tile_mulf
    // CHECK-NOT: amx.tile_mulf
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<16x64xbf16>, memref<3x32x64xbf16>, memref<16x96xf32>
    return
  }

  // Two tiles of rows have four accumulators with one panel.
  // CHECK-LABEL: @more_rows
  func.func @more_rows(%a: memref<32x64xbf16>, %b: memref<2x32x64xbf16>, %c: memref<32x64xf32>) {
    // CHECK: scf.for {{.*}} to %c2{{.*}} step %c1
    // CHECK-COUNT-2: amx.tile_load %arg0
    // CHECK: scf.yield
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<32x64xbf16>, memref<2x32x64xbf16>, memref<32x64xf32>
    return
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<chains = 4, columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14, vnni_rows = 13>
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @dot_panels
  func.func @dot_panels(%a: memref<14x64xbf16>, %b: memref<4x32x64xbf16>, %c: memref<14x128xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK: scf.for {{.*}} to %c4{{.*}} step %c1
    // CHECK-NOT: vector.transfer_read {{.*}} vector<16xf32>
    // CHECK: scf.for {{.*}} iter_args
    // CHECK-COUNT-28: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
    // CHECK-NOT: dpbf16ps
    linalg.fill ins(%f0 : f32) outs(%c : memref<14x128xf32>)
    attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #kernel} : memref<14x64xbf16>, memref<4x32x64xbf16>, memref<14x128xf32>
    return
  }
}
