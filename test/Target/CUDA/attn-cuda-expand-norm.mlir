// RUN: rapt-opt %s --attn-cuda-expand --canonicalize --split-input-file | FileCheck %s

// A warp has a row: three vectors of 16 bytes for each thread, where all arrays are aligned. Sums are those of the threads, then of the warp; no shared memory, no barrier.
// The weights of so few elements are loaded first.
gpu.module @kernels {
  // CHECK-LABEL: func.func @warp
  // CHECK-NOT: nvvm.barrier
  // CHECK: %[[ALIGNED:.*]] = arith.andi
  // CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
  // CHECK: %[[X:.*]]:12 = scf.if %{{.*}} -> (f32,
  // CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT: -> vector<4xf32>
  // CHECK-COUNT-12: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK: %[[SUM:.*]] = attn_gpu.reduce_threads add %{{.*}} threads 32 scratch %c0
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : f32
  // CHECK: %[[D:.*]] = arith.subf %[[X]]#0, %[[MEAN]]
  // CHECK: arith.mulf %[[D]], %[[D]]
  // CHECK: %[[SQUARES:.*]] = attn_gpu.reduce_threads add %{{.*}} threads 32 scratch %c0
  // CHECK: math.sqrt
  // CHECK-NOT: vector<4xbf16>
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK-COUNT-2: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT: vector<4xf32>, !llvm.ptr
  func.func @warp(%x: memref<?x384xf32>, %w: memref<384xbf16>, %b: memref<384xbf16>, %y: memref<?x384xf32>) {
    attn_gpu.norm_tile %x, %w, %b outs(%y : memref<?x384xf32>) tiles <lanes = 32, threads = 128> {columns = 384 : i64, epsilon = 1.0e-5 : f64}
        : memref<?x384xf32>, memref<384xbf16>, memref<384xbf16>
    return
  }
}

// -----

// Rows of a prime number of elements are read element by element whatever the address; those beyond are zero, and do not count. Two warps meet in shared memory, in
// scratch of each sum behind that of the other.
gpu.module @kernels {
  // CHECK-LABEL: func.func @ragged
  // CHECK: nvvm.barrier
  // CHECK-NOT: vector<
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c997
  // CHECK: attn_gpu.reduce_threads add %{{.*}} threads 64 scratch %c0
  // CHECK: arith.cmpi slt, %{{.*}}, %c990
  // CHECK: attn_gpu.reduce_threads add %{{.*}} threads 64 scratch %c16
  // CHECK-NOT: vector<
  func.func @ragged(%x: memref<?x997xf32>, %w: memref<997xf32>, %b: memref<997xf32>, %y: memref<?x997xf32>) {
    attn_gpu.norm_tile %x, %w, %b outs(%y : memref<?x997xf32>) tiles <lanes = 64, threads = 128> {columns = 990 : i64, epsilon = 1.0e-5 : f64}
        : memref<?x997xf32>, memref<997xf32>, memref<997xf32>
    return
  }
}

// -----

// The weights of more elements are loaded behind the sums, a vector at a time.
gpu.module @kernels {
  // CHECK-LABEL: func.func @long
  // CHECK: attn_gpu.reduce_threads
  // CHECK: math.sqrt
  // CHECK: llvm.load {{.*}} -> vector<4xbf16>
  // CHECK: llvm.store {{.*}} : vector<4xf32>
  // CHECK: llvm.load {{.*}} -> vector<4xbf16>
  func.func @long(%x: memref<?x640xf32>, %w: memref<640xbf16>, %y: memref<?x640xf32>) {
    attn_gpu.norm_tile %x, %w outs(%y : memref<?x640xf32>) tiles <lanes = 32, threads = 128> {columns = 640 : i64, epsilon = 1.0e-5 : f64} : memref<?x640xf32>, memref<640xbf16>
    return
  }
}

// -----

// Without a bias there is one sum, of squares.
gpu.module @kernels {
  // CHECK-LABEL: func.func @rms
  // CHECK-COUNT-1: attn_gpu.reduce_threads
  // CHECK-NOT: attn_gpu.reduce_threads
  func.func @rms(%x: memref<4x128xbf16>, %w: memref<128xf32>, %y: memref<4x128xbf16>) {
    attn_gpu.norm_tile %x, %w outs(%y : memref<4x128xbf16>) tiles <lanes = 16, threads = 64> {columns = 128 : i64, epsilon = 1.0e-5 : f64} : memref<4x128xbf16>, memref<128xf32>
    return
  }
}
