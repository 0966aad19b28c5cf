// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @multiply
func.func @multiply(%x: !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, %w: !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  // CHECK: attn_gpu.multiply fma %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] k %{{.*}} depth 8(%{{.*}}, %{{.*}} : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  %0:2 = attn_gpu.multiply fma %x[%i], %w[%i] k %i depth 8 (%s, %s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>)
      : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  // CHECK: attn_gpu.multiply tf32x3 %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] transposed k %{{.*}} depth 16(
  %1 = attn_gpu.multiply tf32x3 %x[%i], %x[%i] transposed k %i depth 16 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>)
      : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>
  return
}

// A tile of f32 times one of bf16, by multiply-adds or on tensor cores.
// CHECK-LABEL: @tile
func.func @tile(%x: tensor<?x96xf32>, %w: tensor<64x96xbf16>, %y: tensor<?x64xf16>) {
  // CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} transposed outs({{.*}}matmul = fma>
  %0 = attn_gpu.linear_tile %x, %w transposed outs(%y : tensor<?x64xf16>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2, matmul = fma> : tensor<?x96xf32>, tensor<64x96xbf16> -> tensor<?x64xf16>
  // CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} transposed outs({{.*}}matmul = tf32>
  %1 = attn_gpu.linear_tile %x, %w transposed outs(%y : tensor<?x64xf16>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2, matmul = tf32> : tensor<?x96xf32>, tensor<64x96xbf16> -> tensor<?x64xf16>
  return
}
