// RUN: rapt-opt %s --pass-pipeline='builtin.module(gpu.module(attn-gpu-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// Multiply-adds read four of k: a row of the input at once, and pairs of columns of a weight [k, n]. Terms are added in the order of k.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK-LABEL: @adds
  // CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK: %[[W:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<2xbf16>
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: %[[FIRST:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
  // CHECK-COUNT-31: llvm.intr.fma
  // CHECK-NOT: llvm.intr.fma
  // CHECK-NOT: nvvm.mma.sync
  llvm.func @adds(%x: !llvm.ptr<1>, %first: i64, %zero: f32) {
    %i = arith.index_cast %first : i64 to index
    %c0 = arith.constant 0 : index
    %c4096 = arith.constant 4096 : index
    %a = attn_gpu.shared %c0 : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    %b = attn_gpu.shared %c4096 : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
    %s = attn_gpu.fill %zero : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    %0 = attn_gpu.multiply fma %a[%i], %b[%i] k %i depth 8 (%s : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
    attn_gpu.store_fragment %0, %x[%i, %i] stride %i of f32 : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    llvm.return
  }
}

// -----

// tf32 are rounded; bf16 are tf32 as they are.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK-LABEL: @tf32
  // CHECK-COUNT-4: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
  // CHECK-NOT: nvvm.convert
  // CHECK: nvvm.mma.sync {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
  // CHECK-NOT: nvvm.mma.sync
  llvm.func @tf32(%x: !llvm.ptr<1>, %first: i64, %zero: f32) {
    %i = arith.index_cast %first : i64 to index
    %c0 = arith.constant 0 : index
    %c4096 = arith.constant 4096 : index
    %a = attn_gpu.shared %c0 : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    %b = attn_gpu.shared %c4096 : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
    %s = attn_gpu.fill %zero : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    %0 = attn_gpu.multiply tf32 %a[%i], %b[%i] k %i depth 8 (%s : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
    attn_gpu.store_fragment %0, %x[%i, %i] stride %i of f32 : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    llvm.return
  }
}

// -----

// Sums of two tf32 have three matmuls; the smallest are added first.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK-LABEL: @three
  // CHECK: %[[HIGH:.*]] = nvvm.convert.float.to.tf32 %[[X:.*]] {rnd
  // CHECK: %[[AS_FLOAT:.*]] = llvm.bitcast %[[HIGH]] : i32 to f32
  // CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[AS_FLOAT]]
  // CHECK: %[[LOW:.*]] = nvvm.convert.float.to.tf32 %[[REST]]
  // CHECK: nvvm.mma.sync A[%[[LOW]],
  // CHECK: nvvm.mma.sync A[%[[HIGH]],
  // CHECK: nvvm.mma.sync A[%[[HIGH]],
  // CHECK-NOT: nvvm.mma.sync
  llvm.func @three(%x: !llvm.ptr<1>, %first: i64, %zero: f32) {
    %i = arith.index_cast %first : i64 to index
    %c0 = arith.constant 0 : index
    %a = attn_gpu.shared %c0 : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    %s = attn_gpu.fill %zero : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    %0 = attn_gpu.multiply tf32x3 %a[%i], %a[%i] transposed k %i depth 8 (%s : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    attn_gpu.store_fragment %0, %x[%i, %i] stride %i of f32 : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    llvm.return
  }
}

// -----

// Lanes combine by butterflies, warps in shared memory behind a barrier: two of them have a value.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK: llvm.mlir.global external @attn_gpu_shared
  // CHECK-LABEL: @threads
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK: scf.if
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
  // CHECK: nvvm.barrier
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
  // CHECK: arith.addf
  llvm.func @threads(%x: f32) -> f32 {
    %c8 = arith.constant 8 : index
    %0 = attn_gpu.reduce_threads add %x threads 64 scratch %c8 : f32
    llvm.return %0 : f32
  }
}

// -----

// Near miss: threads of one warp need no shared memory.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK-LABEL: @lanes
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK-NOT: nvvm.barrier
  llvm.func @lanes(%x: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %0 = attn_gpu.reduce_threads max %x threads 8 scratch %c0 : f32
    llvm.return %0 : f32
  }
}

// -----

// Accumulators are stored to a tile of f32 two at a time, on every GPU.
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx86">] {
  // CHECK-LABEL: @store
  // CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
  // CHECK-NOT: llvm.store
  llvm.func @store(%first: i64, %value: f32) {
    %i = arith.index_cast %first : i64 to index
    %c0 = arith.constant 0 : index
    %t = attn_gpu.shared %c0 : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    %s = attn_gpu.fill %value : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    attn_gpu.store_matrix %s, %t[%i, %c0] : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>, !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
    llvm.return
  }
}
