// RUN: rapt-opt %s --attn-cuda-expand --verify-diagnostics --split-input-file

func.func @host(%x: memref<8x64xf16>, %w: memref<64xf16>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{is expanded in a GPU module, on buffers}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<8x64xf16>) tiles <lanes = 8, threads = 64> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<8x64xf16>, memref<64xf16>
  return
}

// -----

gpu.module @kernels {
  func.func @tensors(%x: tensor<8x64xf16>, %w: tensor<64xf16>, %y: tensor<8x64xf16>) -> tensor<8x64xf16> {
    // expected-error@+1 {{is expanded in a GPU module, on buffers}}
    %0 = attn_gpu.norm_tile %x, %w outs(%y : tensor<8x64xf16>) tiles <lanes = 8, threads = 64> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : tensor<8x64xf16>, tensor<64xf16> -> tensor<8x64xf16>
    return %0 : tensor<8x64xf16>
  }
}
