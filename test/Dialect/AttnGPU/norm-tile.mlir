// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%x: tensor<?x768xbf16>, %w: tensor<768xf32>, %b: tensor<768xf32>, %y: tensor<?x768xbf16>) -> tensor<?x768xbf16> {
  // CHECK: attn_gpu.norm_tile %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}} : tensor<?x768xbf16>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.000000e-05 : f64} : tensor<?x768xbf16>, tensor<768xf32>, tensor<768xf32> -> tensor<?x768xbf16>
  %0 = attn_gpu.norm_tile %x, %w, %b outs(%y : tensor<?x768xbf16>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.0e-5 : f64}
      : tensor<?x768xbf16>, tensor<768xf32>, tensor<768xf32> -> tensor<?x768xbf16>
  return %0 : tensor<?x768xbf16>
}

// CHECK-LABEL: @buffers
func.func @buffers(%x: memref<2x2048xf32, strided<[?, 1], offset: ?>>, %w: memref<2048xf16>, %y: memref<2x2048xf32>) {
  // CHECK: attn_gpu.norm_tile %{{.*}}, %{{.*}} outs(%{{.*}} : memref<2x2048xf32>) tiles <lanes = 128, threads = 256> {columns = 2000 : i64, epsilon = {{.*}}E-7 : f64} : memref<2x2048xf32, strided<[?, 1], offset: ?>>, memref<2048xf16>{{$}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<2x2048xf32>) tiles <lanes = 128, threads = 256> {columns = 2000 : i64, epsilon = 1.0e-6 : f64}
      : memref<2x2048xf32, strided<[?, 1], offset: ?>>, memref<2048xf16>
  return
}

// CHECK-LABEL: @threads
func.func @threads(%x: f32, %scratch: index) -> f32 {
  // CHECK: attn_gpu.reduce_threads max %{{.*}} threads 64 scratch %{{.*}} : f32
  %0 = attn_gpu.reduce_threads max %x threads 64 scratch %scratch : f32
  return %0 : f32
}
