// RUN: rapt-opt %s --attn-cuda-expand --canonicalize --split-input-file | FileCheck %s

// Chunks. A thread has the decay and the beta of a token. A[i, j] of a warp's 16 tokens are in its rows; block after block of 16 tokens is solved, and those behind take it from theirs.
gpu.module @kernels {
  // CHECK-LABEL: func.func @gated_delta
  // The thread's part of the state, from where the sequence begins.
  // CHECK-COUNT-32: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK: %[[REST:.*]] = arith.remui %{{.*}}, %c64
  // CHECK: %[[IS_ENOUGH:.*]] = arith.cmpi sge, %[[REST]], %c24
  // CHECK: %[[END:.*]] = arith.select %[[IS_ENOUGH]]
  // CHECK: scf.if
  // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
  // CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c64 {
  // CHECK: attn_gpu.copy_rows
  // CHECK: attn_gpu.copy_rows {{.*}} elements
  // CHECK: arith.maximumf
  // CHECK: %[[WHOLE:.*]] = math.roundeven
  // CHECK: arith.subf %{{.*}}, %[[WHOLE]]
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK: nvvm.barrier
  // Products of keys, as they are in bf16, times beta and the decays between them; exponents are 0 where a token is not before.
  // CHECK-COUNT-4: attn_gpu.mma
  // CHECK: attn_gpu.map
  // CHECK: %[[BEFORE:.*]] = arith.cmpi slt
  // CHECK: %[[EXPONENT:.*]] = arith.select %[[BEFORE]], %{{.*}}, %cst
  // CHECK: math.exp %[[EXPONENT]]
  // CHECK: arith.select %[[BEFORE]]
  // CHECK-COUNT-4: attn_gpu.store_matrix
  // CHECK: nvvm.bar.warp.sync
  // The first block of 16: 120 multiply-adds for each value channel.
  // CHECK: attn_gpu.multiply tf32
  // CHECK: attn_gpu.store_matrix
  // CHECK: nvvm.bar.warp.sync
  // CHECK-COUNT-120: llvm.intr.fma
  // CHECK-NOT: llvm.intr.fma
  // CHECK: nvvm.barrier
  // CHECK: scf.if %{{.*}} -> (!attn_gpu.fragment<32x16xf32, #attn_gpu.mma<acc>>)
  // CHECK: attn_gpu.multiply tf32
  // CHECK-COUNT-360: llvm.intr.fma
  // The outputs, whose blocks behind the warp's own are not read.
  // CHECK-COUNT-4: attn_gpu.mma
  // CHECK: arith.cmpi sle
  // CHECK: attn_gpu.multiply tf32
  // CHECK: attn_gpu.multiply tf32
  // CHECK: attn_gpu.store_rows
  // The state: a warp has 32 of 128 key channels.
  // CHECK: attn_gpu.multiply tf32 {{.*}} depth 8(%{{.*}} : !attn_gpu.fragment<32x32xf32, #attn_gpu.mma<acc>>)
  // CHECK: nvvm.barrier
  // CHECK: attn_gpu.store_matrix
  // The rest, token by token: 16 of them are staged.
  // CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c16
  // CHECK: scf.for {{.*}} -> (f32, f32,
  // CHECK-COUNT-32: llvm.intr.fma
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK-COUNT-32: llvm.intr.fma
  // CHECK-COUNT-32: llvm.intr.fma
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  // CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
  // CHECK: nvvm.barrier
  // CHECK-COUNT-32: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  func.func @gated_delta(%q: memref<?x1x128xbf16>, %v: memref<?x1x32xbf16>, %g: memref<?x1xf32>, %s: memref<?x4x128x128xf32>, %o: memref<?x1x32xbf16>, %from: index, %to: index) {
    %c0 = arith.constant 0 : index
    attn_gpu.linear_attention_tile %q, %q, %v decay(%g : memref<?x1xf32>) beta(%g : memref<?x1xf32>) from[%from, %c0, %c0, %c0] to[%to, %c0, %c0, %c0] outs(%o : memref<?x1x32xbf16>) states(%s : memref<?x4x128x128xf32>)
        tiles <columns = 32, warps = 4, chunk = 64, least = 24, matmul = tf32> {scale = 1.0 : f64} : memref<?x1x128xbf16>, memref<?x1x128xbf16>, memref<?x1x32xbf16>
    return
  }
}

// -----

// The recurrent form alone: eight threads have a value channel, and four of the 32 key channels each, of which 25 are beyond the seven that there are. Decays of channels are in shared memory as their
// exponentials. The state that nobody takes is not written.
gpu.module @kernels {
  // CHECK-LABEL: func.func @gated
  // CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
  // CHECK-NOT: attn_gpu.multiply
  // CHECK: math.exp
  // CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
  // CHECK-COUNT-4: arith.mulf
  // CHECK-COUNT-4: llvm.intr.fma
  // CHECK: scf.for {{.*}} to %c2
  // CHECK-COUNT-4: llvm.intr.fma
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK-NOT: !llvm.ptr<1>
  // CHECK: return
  func.func @gated(%q: memref<?x2x7xf32>, %k: memref<?x1x7xf32>, %v: memref<?x1x?xf32>, %g: memref<?x1x7xf32>, %s: memref<?x1x7x40xf32>, %o: memref<?x2x?xf32>, %from: index) {
    %c0 = arith.constant 0 : index
    attn_gpu.linear_attention_tile %q, %k, %v decay(%g : memref<?x1x7xf32>) first(%s : memref<?x1x7x40xf32>) from[%from, %c0, %c0, %c0] outs(%o : memref<?x2x?xf32>) tiles <columns = 16, warps = 4> {scale = 0.5 : f64}
        : memref<?x2x7xf32>, memref<?x1x7xf32>, memref<?x1x?xf32>
    return
  }
}
