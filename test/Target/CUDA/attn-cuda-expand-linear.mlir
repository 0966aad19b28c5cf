// RUN: rapt-opt %s --attn-cuda-expand --canonicalize --split-input-file | FileCheck %s

// Three stages of a tile 32x64: two steps are copied ahead, 6,144 bytes each. Aligned rows take the ring of buffers, others one buffer and copies of elements.
// A warp has 32x16.
gpu.module @kernels {
  // CHECK-LABEL: func.func @sums
  // CHECK: nvvm.barrier
  // CHECK: %[[SUMS:.*]] = scf.if %{{.*}} -> (!attn_gpu.fragment<32x16xf32, #attn_gpu.mma<acc>>) {
  // CHECK: %[[ZERO:.*]] = attn_gpu.fill
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%{{.*}}, %c32) to %{{.*}} thread %{{.*}} of 128 : !attn_gpu.tile<32x32xbf16, #attn_gpu.swizzle<64>>
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%c32, %{{.*}}) to %{{.*}} thread %{{.*}} of 128 : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: attn_gpu.copy_rows
  // CHECK: attn_gpu.copy_rows
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: %[[MAIN:.*]]:3 = scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args(%[[ACC:.*]] = %[[ZERO]], %[[READ:.*]] = %c0, %[[FILLED:.*]] = %c12288)
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK-NEXT: nvvm.barrier
  // CHECK: attn_gpu.copy_rows
  // CHECK: attn_gpu.copy_rows
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: %[[X:.*]] = attn_gpu.shared %[[READ]] : !attn_gpu.tile<32x32xbf16, #attn_gpu.swizzle<64>>
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[READ]], %c2048
  // CHECK: %[[W:.*]] = attn_gpu.shared %[[BEHIND]] : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  // CHECK: %[[A:.*]] = attn_gpu.load_matrix %[[X]][%[[ROW:.*]], %c0]
  // CHECK: %[[B:.*]] = attn_gpu.load_matrix %[[W]][%c0, %[[COLUMN:.*]]]
  // CHECK: %[[S:.*]] = attn_gpu.mma %[[A]], %[[B]], %[[ACC]]
  // CHECK: attn_gpu.load_matrix %[[X]][%[[ROW]], %c16]
  // CHECK: attn_gpu.load_matrix %[[W]][%c16, %[[COLUMN]]]
  // CHECK: attn_gpu.mma %{{.*}}, %{{.*}}, %[[S]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[READ]], %c6144
  // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c18432
  // CHECK: arith.select %[[WRAPS]], %c0, %[[NEXT]]
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[MAIN]]#0, %{{.*}} = %[[MAIN]]#1
  // CHECK-NOT: attn_gpu.copy_rows
  // CHECK: } else {
  // CHECK: scf.for
  // CHECK-NEXT: nvvm.barrier
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: nvvm.barrier
  // CHECK-NOT: nvvm.cp.async.commit.group
  // CHECK: attn_gpu.mma
  // CHECK: %[[FINISHED:.*]] = attn_gpu.map(%[[SUMS]] : {{.*}}) {{.*}} {
  // CHECK: ^bb0(%[[SUM:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
  // CHECK: %[[AT:.*]] = arith.addi %[[J]], %[[COLUMN]]
  // CHECK: memref.load %{{.*}}[%[[AT]]]
  // CHECK: attn_gpu.store_rows %[[FINISHED]], %{{.*}}[%[[ROW]]] bounds(%{{.*}}, %{{.*}}) of f16 :
  // CHECK: attn_gpu.store_rows %[[FINISHED]], {{.*}} of f16 elements
  func.func @sums(%x: memref<?x160xbf16>, %w: memref<160x?xbf16, strided<[160, 1], offset: ?>>, %b: memref<64xf32>, %y: memref<?x?xf16, strided<[?, 1], offset: ?>>) {
    attn_gpu.linear_tile %x, %w outs(%y : memref<?x?xf16, strided<[?, 1], offset: ?>>) tiles <rows = 32, columns = 64, depth = 32, warps = 4, stages = 3>
        : memref<?x160xbf16>, memref<160x?xbf16, strided<[160, 1], offset: ?>> epilogue {
    ^bb0(%sum: f32, %row: index, %column: index):
      %bias = memref.load %b[%column] : memref<64xf32>
      %0 = arith.addf %sum, %bias : f32
      attn_gpu.yield %0 : f32
    }
    return
  }
}

// -----

// A weight [n, k] is copied by its columns, and k ends within the last step. The sums of a warp's 32 columns are two fragments, which are stored one after the other.
gpu.module @kernels {
  // CHECK-LABEL: func.func @transposed
  // CHECK-SAME: %[[X:.*]]: memref<8x40xf16>, %[[W:.*]]: memref<64x40xf16>
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%c8, %c40) to %{{.*}} : !attn_gpu.tile<16x32xf16, #attn_gpu.swizzle<64>>
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%c64, %c40) to %{{.*}} : !attn_gpu.tile<64x32xf16, #attn_gpu.swizzle<64>>
  // CHECK: attn_gpu.load_matrix %{{.*}}[%{{.*}}, %c0] : {{.*}} -> !attn_gpu.fragment<16x16xf16, #attn_gpu.mma<a>>
  // CHECK: attn_gpu.load_matrix %{{.*}}[%[[FIRST:.*]], %c0] transpose : {{.*}} -> !attn_gpu.fragment<16x16xf16, #attn_gpu.mma<b>>
  // CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c16
  // CHECK: attn_gpu.load_matrix %{{.*}}[%[[SECOND]], %c0] transpose
  // CHECK-NOT: attn_gpu.map
  // CHECK-COUNT-4: attn_gpu.store_rows
  func.func @transposed(%x: memref<8x40xf16>, %w: memref<64x40xf16>, %y: memref<8x64xf32>) {
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<8x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
        : memref<8x40xf16>, memref<64x40xf16>
    return
  }
}

// -----

// f32 are multiplied from shared memory, in a loop over parts of the step's depth; copies and epilogues are those of bf16. The weight's tile has its own elements.
gpu.module @kernels {
  // CHECK-LABEL: func.func @floats
  // CHECK: attn_gpu.copy_rows %{{.*}} : !attn_gpu.tile<16x32xf32, #attn_gpu.swizzle<128>>
  // CHECK: attn_gpu.copy_rows %{{.*}} : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  // CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %{{.*}} = %c0, %{{.*}} = %c6144)
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK: %{{.*}}:2 = scf.for %[[K:.*]] = %c0 to %c32 step %c8 iter_args(%[[S:.*]] = %[[A]], %[[T:.*]] = %[[B]])
  // CHECK: attn_gpu.multiply tf32x3 %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] k %[[K]] depth 8(%[[S]], %[[T]] :
  // CHECK-NOT: attn_gpu.load_matrix
  // CHECK-COUNT-4: attn_gpu.store_rows
  func.func @floats(%x: memref<8x96xf32>, %w: memref<96x64xbf16>, %y: memref<8x64xf32>) {
    attn_gpu.linear_tile %x, %w outs(%y : memref<8x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2, matmul = tf32x3>
        : memref<8x96xf32>, memref<96x64xbf16>
    return
  }
}

// -----

// A warp has a quarter of each step's k. Behind the last step their sums meet where the buffers were; two warps store eight columns each.
gpu.module @kernels {
  // CHECK-LABEL: func.func @parts
  // CHECK: %[[PART:.*]] = arith.divui %{{.*}}, %c32
  // CHECK: %[[SUMS:.*]] = scf.if %{{.*}} -> (!attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c32
  // CHECK: attn_gpu.load_matrix %{{.*}}[%c0, %[[FIRST]]]
  // CHECK: attn_gpu.load_matrix %{{.*}}[%[[FIRST]], %c0]
  // CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c16
  // CHECK: attn_gpu.load_matrix %{{.*}}[%c0, %[[SECOND]]]
  // CHECK: } else {
  // CHECK: nvvm.barrier
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: attn_gpu.mma
  // CHECK: nvvm.barrier
  // CHECK-NEXT: %[[ALL:.*]] = attn_gpu.sum_warps(%[[SUMS]] : {{.*}}) parts 4 threads 128 scratch %c0 -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  // CHECK: %[[COLUMN:.*]] = arith.muli %[[PART]], %c8
  // CHECK: %[[STORES:.*]] = arith.cmpi ult, %[[PART]], %c2
  // CHECK: scf.if %[[STORES]] {
  // CHECK: attn_gpu.store_rows %[[ALL]]
  func.func @parts(%x: memref<?x512xbf16>, %w: memref<512x16xbf16>, %y: memref<?x16xf16>) {
    attn_gpu.linear_tile %x, %w outs(%y : memref<?x16xf16>) tiles <rows = 16, columns = 16, depth = 128, warps = 4, stages = 2, parts = 4> : memref<?x512xbf16>, memref<512x16xbf16>
    return
  }
}

// -----

// A tile that waits has the weight of the first steps on its way before.
gpu.module @kernels {
  // CHECK-LABEL: func.func @waits
  // CHECK: scf.if
  // CHECK: attn_gpu.copy_rows {{.*}} : !attn_gpu.tile<64x16xbf16
  // CHECK-NOT: attn_gpu.copy_rows {{.*}} : !attn_gpu.tile<16x64xbf16
  // CHECK-NOT: nvvm.cp.async.commit.group
  // CHECK: attn_gpu.wait_for_kernel
  // CHECK: attn_gpu.copy_rows {{.*}} : !attn_gpu.tile<16x64xbf16
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: scf.for
  // CHECK: } else {
  // CHECK: attn_gpu.wait_for_kernel
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  func.func @waits(%x: memref<?x256xbf16>, %w: memref<256x16xbf16>, %y: memref<?x16xf16>) {
    attn_gpu.linear_tile %x, %w outs(%y : memref<?x16xf16>) tiles <rows = 16, columns = 16, depth = 64, warps = 1, stages = 2> {constant_weight, waits} : memref<?x256xbf16>, memref<256x16xbf16>
    return
  }
}
