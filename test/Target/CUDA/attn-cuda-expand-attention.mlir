// RUN: rapt-opt %s --attn-cuda-expand --split-input-file | FileCheck %s

// Keys of the next block are copied behind the scores, values behind the barrier that tells that keys are there. Blocks behind the last key are masked; without a mask no other is.
// CHECK-LABEL: func.func @mma
// CHECK: attn_gpu.copy_rows {{.*}} of 128 :
// CHECK: attn_gpu.copy_rows {{.*}} of 128 elements :
// CHECK: attn_gpu.load_matrix {{.*}} -> !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>
// CHECK: scf.while
// CHECK: } do {
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: attn_gpu.copy_rows
// CHECK: nvvm.cp.async.commit.group
// CHECK: attn_gpu.load_matrix {{.*}} transpose
// CHECK: attn_gpu.mma
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: attn_gpu.copy_rows
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.if %{{.*}} -> (!attn_gpu.fragment<16x16xf32
// CHECK: attn_gpu.reduce_rows max {{.*}} partial
// CHECK: attn_gpu.reduce_lanes max
// CHECK: math.exp2 %{{.*}} fastmath<afn>
// CHECK: attn_gpu.pack
// CHECK: attn_gpu.mma
// CHECK: scf.yield
// CHECK: attn_gpu.reduce_lanes add
// CHECK: attn_gpu.store_rows {{.*}} of bf16 :
// CHECK: attn_gpu.store_rows {{.*}} of bf16 elements :
// CHECK-NOT: attn_gpu.attention_tile
// Values need no second look where nothing is masked.
// CHECK-NOT: math.absf
gpu.module @kernels {
  func.func @mma(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x64xbf16>) {
    %scale = arith.constant 0.125 : f32
    attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : memref<?x64xbf16>) tiles <rows = 64, keys = 16, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
    return
  }
}

// -----

// Four warps copy, the others compute: the matmul of the scores of a block is under way with that of the values of the block before.
// CHECK-LABEL: func.func @wgmma
// CHECK: attn_gpu.mbarrier_init {{.*}} arrivals 128
// CHECK: attn_gpu.mbarrier_init {{.*}} arrivals 4
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK: nvvm.setmaxregister decrease [[COPYING:.*]]{{$}}
// CHECK: attn_gpu.copy_arrive
// CHECK: scf.while
// CHECK: attn_gpu.mbarrier_wait
// CHECK: attn_gpu.copy_arrive
// CHECK: attn_gpu.mbarrier_wait
// CHECK: attn_gpu.copy_arrive
// CHECK: } else {
// CHECK: nvvm.setmaxregister increase [[COMPUTING:.*]]
// CHECK: scf.while
// CHECK: } do {
// CHECK: attn_gpu.mbarrier_wait
// CHECK: %[[SCORES:.*]] = attn_gpu.wgmma {{.*}} transpose
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: attn_gpu.mbarrier_wait
// CHECK: %[[SUMS:[0-9]+]] = attn_gpu.wgmma %
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: attn_gpu.wgmma_wait 1(%[[SCORES]]
// CHECK: attn_gpu.mbarrier_arrive
// CHECK: math.exp2
// CHECK: attn_gpu.wgmma_wait 0(%[[SUMS]]
// CHECK: attn_gpu.mbarrier_arrive
// CHECK: scf.yield
// CHECK: attn_gpu.store_rows
gpu.module @kernels {
  func.func @wgmma(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x64xbf16>) {
    %scale = arith.constant 0.125 : f32
    attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : memref<?x64xbf16>) tiles <rows = 64, keys = 16, warps = 4, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
    return
  }
}

// -----

// A negative scale reverses the order of scores: they are scaled before their maximum is taken. A block that the mask drops is not copied, and results that are not finite are summed again.
// CHECK-LABEL: func.func @regions
// CHECK: scf.while
// CHECK: arith.xori
// CHECK: scf.while
// CHECK: attn_gpu.map
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK: arith.mulf %[[S]]
// CHECK: arith.cmpi ult
// CHECK: attn_gpu.store_rows
// CHECK: math.absf
gpu.module @kernels {
  func.func @regions(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x64xbf16>, %i: index) {
    %scale = arith.constant -0.125 : f32
    attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : memref<?x64xbf16>) tiles <rows = 64, keys = 16, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16> mask {
    ^bb0(%row: index, %column: index):
      %keep = arith.cmpi ult, %column, %row : index
      attn_gpu.yield %keep : i1
    } blocks {
    ^bb0(%first: index, %count: index):
      %some = arith.cmpi slt, %first, %i : index
      %all = arith.cmpi sgt, %first, %i : index
      attn_gpu.yield %some, %all : i1, i1
    }
    return
  }
}

// -----

// Where the arrays have tensor maps, one thread starts copies by TMA, and their mbarriers have one arrival. Others are copied by elements: their rows do not begin at multiples of 16 bytes. The values of a
// block that is not whole are copied by a warp, which copies none behind the last key. Two warpgroups start their matmuls alternately.
// CHECK-LABEL: func.func @maps
// CHECK-SAME: %[[MADE:[a-z0-9]*]]: i1
// CHECK: scf.if %[[MADE]] {
// CHECK: attn_gpu.mbarrier_init {{.*}} arrivals 1
// CHECK: } else {
// CHECK: attn_gpu.mbarrier_init {{.*}} arrivals 128
// CHECK: nvvm.setmaxregister decrease [[#]]{{$}}
// CHECK: scf.if %[[MADE]] {
// CHECK: attn_gpu.mbarrier_expect {{.*}} bytes 2048
// CHECK-NEXT: attn_gpu.load_tile
// CHECK: arith.cmpi sge
// CHECK-NEXT: scf.if
// CHECK: attn_gpu.mbarrier_expect
// CHECK-NEXT: attn_gpu.load_tile
// CHECK: } else {
// CHECK: attn_gpu.copy_rows {{.*}} of 32 :
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.fence.proxy
// CHECK: nvvm.bar.warp.sync
// CHECK: attn_gpu.mbarrier_arrive
// CHECK: } else {
// CHECK-NOT: attn_gpu.copy_rows {{.*}} of 128 :
// CHECK: attn_gpu.copy_rows {{.*}} of 128 elements :
// CHECK: nvvm.setmaxregister increase {{.*}}
// CHECK: attn_gpu.barrier_arrive {{.*}} threads 256
// CHECK: scf.while
// CHECK: attn_gpu.barrier_sync {{.*}} threads 256
// CHECK: attn_gpu.wgmma
// CHECK: attn_gpu.wgmma
// CHECK: attn_gpu.barrier_arrive {{.*}} threads 256
// CHECK: attn_gpu.barrier_sync {{.*}} threads 256
// CHECK-NOT: math.absf
gpu.module @kernels {
  func.func @maps(%map: !llvm.ptr, %made: i1, %q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x64xbf16>, %i: index) {
    %scale = arith.constant 0.125 : f32
    attn_gpu.attention_tile %q, %k, %k scale %scale maps(%map at [%i, %i], %map at [%i, %i, %i] if %made : !llvm.ptr, !llvm.ptr) outs(%o : memref<?x64xbf16>) tiles <rows = 128, keys = 16, warps = 8, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
    return
  }
}

// -----

// Matmuls of f32 from shared memory, by warps that have rows. Probabilities go through shared memory, where a warp reads its own alone. The running maximum is subtracted before scores are scaled.
// CHECK-LABEL: func.func @floats
// CHECK-DAG: %[[QUERIES:.*]] = attn_gpu.shared %{{.*}} : !attn_gpu.tile<64x64xf32
// CHECK-DAG: %[[KEYS:.*]] = attn_gpu.shared %{{.*}} : !attn_gpu.tile<32x64xbf16
// CHECK-DAG: %[[PROBABILITIES:.*]] = attn_gpu.shared %{{.*}} : !attn_gpu.tile<64x32xf32
// CHECK: %[[ROWS:.*]] = arith.cmpi slt
// CHECK: scf.while
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: scf.if %[[ROWS]]
// CHECK: attn_gpu.multiply fma %[[QUERIES]][%{{.*}}], %[[KEYS]][%{{.*}}] transposed k %{{.*}} depth 8
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: scf.if %[[ROWS]]
// CHECK: %[[LESS:.*]] = arith.subf
// CHECK: arith.mulf %[[LESS]]
// CHECK-COUNT-2: attn_gpu.store_matrix %{{.*}}, %[[PROBABILITIES]]
// CHECK: nvvm.bar.warp.sync
// CHECK: attn_gpu.multiply fma %[[PROBABILITIES]][%{{.*}}], %{{.*}} depth 8
// CHECK: attn_gpu.store_rows {{.*}} of f32 :
// CHECK: %[[SUM:.*]] = llvm.getelementptr
// CHECK-NEXT: llvm.store %{{.*}}, %[[SUM]] {{.*}} : f32, !llvm.ptr<1>
// CHECK: %[[LARGEST:.*]] = llvm.getelementptr
// CHECK-NEXT: llvm.store %{{.*}}, %[[LARGEST]] {{.*}} : f32, !llvm.ptr<1>
gpu.module @kernels {
  func.func @floats(%q: memref<?x64xf32>, %k: memref<?x64xbf16>, %v: memref<?x96xf32>, %o: memref<?x96xf32>, %largest: memref<?xf32>, %sum: memref<?xf32>) {
    %scale = arith.constant 0.125 : f32
    attn_gpu.attention_tile %q, %k, %v scale %scale outs(%o, %largest : memref<?x96xf32>, memref<?xf32>) sum(%sum : memref<?xf32>) tiles <rows = 64, keys = 32, warps = 2, matmul = fma> : memref<?x64xf32>, memref<?x64xbf16>, memref<?x96xf32>
    return
  }
}
