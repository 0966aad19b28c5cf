// RUN: rapt-opt %s --attn-cuda-expand --split-input-file | FileCheck %s

// The bytes of a step are copied while those before are multiplied. Each group's sums are integers, whose scales make f32 of them; 4 bits are multiplied by 16, which the factor takes back.
// CHECK-LABEL: func.func @w4
// CHECK: nvvm.barrier
// CHECK: attn_gpu.copy_rows {{.*}} thread %{{.*}} of 128 : !attn_gpu.tile<64x64xi16
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK: %[[A:.*]] = attn_gpu.load_matrix
// CHECK: %[[SUMS:.*]] = attn_gpu.quantized_mma %[[A]], {{.*}} bits 4
// CHECK: attn_gpu.add_scaled %[[SUMS]], {{.*}} factor 6.250000e-02
// CHECK: attn_gpu.store_rows
// CHECK-NOT: quantized_linear_tile
gpu.module @kernels {
  func.func @w4(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
    attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
        : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
    return
  }
}

// -----

// Sums of the only group are integers until the end.
// CHECK-LABEL: func.func @w8a8
// CHECK: scf.for
// CHECK: attn_gpu.quantized_mma {{.*}} bits 8
// CHECK-NOT: attn_gpu.add_scaled
// CHECK: scf.yield
// CHECK: attn_gpu.add_scaled {{.*}} factor 1.000000e+00
// CHECK: attn_gpu.store_rows
gpu.module @kernels {
  func.func @w8a8(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x1x4160xi8>, %y: memref<?x64xf32>) {
    attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u8 group 0 axis 0>}
        : memref<?x128xi8>, memref<?x4xf32>, memref<2x1x4160xi8>
    return
  }
}

// -----

// A step has half of a block of 256: four units, whose chunks of codes are permuted, and behind them the numbers of the block, which are 128 bytes of a panel.
// CHECK-LABEL: func.func @q4_k
// CHECK: attn_gpu.copy_rows
// CHECK: nvvm.cp.async.shared.global
// CHECK: scf.for
// CHECK: %[[A:.*]] = attn_gpu.load_matrix
// CHECK: attn_gpu.block_mma %[[A]], {{.*}} pitch 16, {{.*}} of !attn.quantized<q4_k group 32 axis 0>
// CHECK-COUNT-7: attn_gpu.block_mma
// CHECK-NOT: attn_gpu.block_mma
// CHECK: scf.yield
// CHECK: attn_gpu.store_rows
gpu.module @kernels {
  func.func @q4_k(%codes: memref<?x512xi8>, %scales: memref<?x16xf32>, %w: memref<2x2x4736xi8>, %y: memref<?x64xf32>) {
    attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<q4_k group 32 axis 0>}
        : memref<?x512xi8>, memref<?x16xf32>, memref<2x2x4736xi8>
    return
  }
}

// -----

// Lanes that have a group find its largest magnitude.
// CHECK-LABEL: func.func @rows
// CHECK: shfl
// CHECK-NOT: quantize_tile
// CHECK: return
// All warps find that of the only group, through shared memory.
// CHECK-LABEL: func.func @one_group
// CHECK: shfl
// CHECK: nvvm.barrier
// CHECK-NOT: quantize_tile
// CHECK: return
gpu.module @kernels {
  func.func @rows(%x: memref<1x64xbf16>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
    attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x64xbf16>
    return
  }
  func.func @one_group(%x: memref<1x64xbf16>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
    attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 0 : i64, period = 0 : i64} : memref<1x64xbf16>
    return
  }
}
