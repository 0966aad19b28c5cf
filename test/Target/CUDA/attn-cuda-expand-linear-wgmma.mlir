// RUN: rapt-opt %s --attn-cuda-expand --canonicalize --split-input-file | FileCheck %s

// A thread of the first warpgroup copies both operands of a step by TMA, behind the mbarrier of those that have read the stage; without tensor maps its 128 threads copy elements.
// Two warpgroups of 64 rows multiply. The loop over tiles is there for each of them, and its stages go on from tile to tile. Three stages of 32 KiB come before six mbarriers.
gpu.module @kernels {
  // CHECK-LABEL: func.func @loop
  // CHECK-SAME: %[[XMAP:.*]]: !llvm.ptr, %[[WMAP:.*]]: !llvm.ptr, %[[MADE:.*]]: i1, %{{.*}}, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[N:.*]]: index
  // CHECK: scf.if %[[MADE]] {
  // CHECK: %[[FULL:.*]] = attn_gpu.shared %c98304 : !attn_gpu.mbarrier
  // CHECK: attn_gpu.mbarrier_init %[[FULL]] arrivals 1
  // CHECK: %[[EMPTY:.*]] = attn_gpu.shared %c98328 : !attn_gpu.mbarrier
  // CHECK: attn_gpu.mbarrier_init %[[EMPTY]] arrivals 8
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK: } else {
  // CHECK: attn_gpu.mbarrier_init %{{.*}} arrivals 128
  // CHECK: nvvm.barrier
  // CHECK: nvvm.setmaxregister decrease 56
  // CHECK: scf.if %[[MADE]] {
  // CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]] step %[[N]] iter_args(%[[STAGE:.*]] = %c0, %[[PARITY:.*]] = %c0_i32)
  // CHECK: %[[ROW:.*]] = arith.muli %[[I]], %[[N]]
  // CHECK: %[[NEXT:.*]]:2 = scf.for %[[K:.*]] = %c0 to %c160 step %c64 iter_args(%[[AT:.*]] = %[[STAGE]], %[[PHASE:.*]] = %[[PARITY]])
  // CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %c1_i32
  // CHECK: attn_gpu.mbarrier_wait %{{.*}} parity %[[BEFORE]]
  // CHECK: attn_gpu.mbarrier_expect %[[BARRIER:.*]] bytes 32768
  // CHECK: %[[K32:.*]] = arith.index_cast %[[K]]
  // CHECK: %[[ROW32:.*]] = arith.index_cast %[[ROW]]
  // CHECK: attn_gpu.load_tile %[[XMAP]][%[[K32]], %[[ROW32]]] to %{{.*}} arrive %[[BARRIER]] : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
  // CHECK: attn_gpu.load_tile %[[WMAP]][%c0_i32, %{{.*}}] to %{{.*}} arrive %[[BARRIER]] : !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>
  // CHECK: arith.cmpi eq, %{{.*}}, %c3
  // CHECK: scf.yield %[[NEXT]]#0, %[[NEXT]]#1
  // CHECK: } else {
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: nvvm.fence.proxy
  // CHECK: attn_gpu.mbarrier_arrive
  // CHECK: nvvm.setmaxregister increase 224
  // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c64
  // CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %[[N]] iter_args(
  // CHECK: %[[ZERO:.*]] = attn_gpu.fill %{{.*}} : !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>
  // CHECK: %[[SUMS:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[ACC:.*]] = %[[ZERO]])
  // CHECK: attn_gpu.mbarrier_wait %{{.*}} parity %[[PHASE]]
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: %[[FENCED:.*]] = attn_gpu.wgmma_fence(%[[ACC]]
  // CHECK: %[[A:.*]] = attn_gpu.subtile %{{.*}}[%[[FIRST]], %c0]
  // CHECK: attn_gpu.wgmma %[[A]], %{{.*}}, %[[FENCED]] : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>, !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  // CHECK: attn_gpu.wgmma_wait 0
  // CHECK: attn_gpu.mbarrier_arrive
  // CHECK: attn_gpu.columns %[[SUMS]]#2 from 0
  // CHECK: %[[LAST:.*]] = attn_gpu.columns %[[SUMS]]#2 from 112
  // CHECK-COUNT-7: attn_gpu.map
  // CHECK: %[[FINISHED:.*]] = attn_gpu.map(%[[LAST]]
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: index, %[[J:.*]]: index):
  // CHECK: arith.addi %[[J]], %c112
  // CHECK: attn_gpu.store_rows %[[FINISHED]], %{{.*}}[%[[FIRST]]] bounds(%{{.*}}, %{{.*}}) of f16 fours :
  // CHECK: attn_gpu.store_rows %[[FINISHED]], {{.*}} of f16 elements :
  func.func @loop(%a: !llvm.ptr, %b: !llvm.ptr, %made: i1, %x: memref<?x160xbf16>, %w: memref<160x128xbf16>, %bias: memref<128xf32>, %y: memref<?x128xf16>, %begin: index, %end: index, %n: index) {
    %c0 = arith.constant 0 : index
    scf.for %i = %begin to %end step %n {
      %row = arith.muli %i, %n : index
      %rows = memref.subview %x[%row, 0] [%n, 160] [1, 1] : memref<?x160xbf16> to memref<?x160xbf16, strided<[160, 1], offset: ?>>
      %result = memref.subview %y[%row, 0] [%n, 128] [1, 1] : memref<?x128xf16> to memref<?x128xf16, strided<[128, 1], offset: ?>>
      attn_gpu.linear_tile %rows, %w maps(%a at [%c0, %row], %b at [%c0, %c0] if %made : !llvm.ptr, !llvm.ptr) outs(%result : memref<?x128xf16, strided<[128, 1], offset: ?>>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma, blocks = 132>
          : memref<?x160xbf16, strided<[160, 1], offset: ?>>, memref<160x128xbf16> epilogue {
      ^bb0(%sum: f32, %r: index, %column: index):
        %v = memref.load %bias[%column] : memref<128xf32>
        %0 = arith.addf %sum, %v : f32
        attn_gpu.yield %0 : f32
      }
    }
    return
  }
}

// -----

// Without tensor maps the first warpgroup copies by cp.async where rows are aligned. The warpgroup that multiplies has a fence then. A weight [n, k] is transposed.
gpu.module @kernels {
  // CHECK-LABEL: func.func @one
  // CHECK-NOT: scf.for
  // CHECK: nvvm.setmaxregister decrease 56
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: attn_gpu.copy_rows
  // CHECK-NOT: elements
  // CHECK: attn_gpu.copy_arrive
  // CHECK: } else {
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: nvvm.setmaxregister increase 256
  // CHECK: scf.for
  // CHECK: attn_gpu.mbarrier_wait
  // CHECK: nvvm.fence.proxy
  // CHECK: attn_gpu.wgmma %{{.*}}, %{{.*}}, %{{.*}} transpose :
  // CHECK: attn_gpu.store_rows {{.*}} of f32 :
  func.func @one(%x: memref<64x80xf16>, %w: memref<128x80xf16>, %y: memref<64x128xf32>) {
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<64x128xf32>) tiles <rows = 64, columns = 128, depth = 64, warps = 4, stages = 3, matmul = wgmma> : memref<64x80xf16>, memref<128x80xf16>
    return
  }
}
