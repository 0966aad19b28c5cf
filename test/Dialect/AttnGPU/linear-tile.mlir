// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%x: tensor<?x96xbf16>, %w: tensor<64x96xbf16>, %b: tensor<64xf32>, %y: tensor<?x64xf16>) -> tensor<?x64xf16> {
  // CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} transposed outs(%{{.*}} : tensor<?x64xf16>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2> : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xf16> epilogue {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %{{.*}}: index, %[[COLUMN:.*]]: index):
  // CHECK: attn_gpu.yield %{{.*}} : f32
  %0 = attn_gpu.linear_tile %x, %w transposed outs(%y : tensor<?x64xf16>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %bias = tensor.extract %b[%column] : tensor<64xf32>
    %1 = arith.addf %sum, %bias : f32
    attn_gpu.yield %1 : f32
  }
  return %0 : tensor<?x64xf16>
}

// CHECK-LABEL: @buffers
func.func @buffers(%x: memref<5x96xf16>, %w: memref<96x?xf16, strided<[128, 1], offset: ?>>, %y: memref<5x?xf32>) {
  // CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} outs(%{{.*}} : memref<5x?xf32>) tiles <rows = 64, columns = 128, depth = 64, warps = 4, stages = 3> : memref<5x96xf16>, memref<96x?xf16, strided<[128, 1], offset: ?>>{{$}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<5x?xf32>) tiles <rows = 64, columns = 128, depth = 64, warps = 4, stages = 3>
      : memref<5x96xf16>, memref<96x?xf16, strided<[128, 1], offset: ?>>
  return
}

// A tile of two warpgroups, whose operands TMA copies where there are maps.
// CHECK-LABEL: @warpgroups
func.func @warpgroups(%x: memref<?x96xbf16>, %w: memref<96x256xbf16>, %y: memref<?x256xf32>, %a: !llvm.ptr, %b: !llvm.ptr, %i: index, %made: i1) {
  // CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} maps(%{{.*}} at[%{{.*}}, %{{.*}}], %{{.*}} at[%{{.*}}, %{{.*}}, %{{.*}}] if %{{.*}} : !llvm.ptr, !llvm.ptr) outs(%{{.*}} : memref<?x256xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>
  attn_gpu.linear_tile %x, %w maps(%a at [%i, %i], %b at [%i, %i, %i] if %made : !llvm.ptr, !llvm.ptr) outs(%y : memref<?x256xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>
      : memref<?x96xbf16>, memref<96x256xbf16>
  return
}

// CHECK-LABEL: @columns
func.func @columns(%s: !attn_gpu.fragment<64x256xf32, #attn_gpu.wgmma<acc>>) {
  // CHECK: attn_gpu.columns %{{.*}} from 240 : !attn_gpu.fragment<64x256xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
  %0 = attn_gpu.columns %s from 240 : !attn_gpu.fragment<64x256xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
  return
}

// Warps that share the rows and the columns of a tile, and their sums.
// CHECK-LABEL: @parts
func.func @parts(%x: memref<?x96xbf16>, %w: memref<96x16xbf16>, %y: memref<?x16xf32>, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %scratch: index) {
  // CHECK: attn_gpu.linear_tile {{.*}} tiles <rows = 16, columns = 16, depth = 256, warps = 4, stages = 5, parts = 4>
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x16xf32>) tiles <rows = 16, columns = 16, depth = 256, warps = 4, stages = 5, parts = 4> : memref<?x96xbf16>, memref<96x16xbf16>
  // CHECK: attn_gpu.sum_warps(%{{.*}}, %{{.*}} : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 4 threads 128 scratch %{{.*}} -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  %0 = attn_gpu.sum_warps(%s, %s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 4 threads 128 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  return
}
