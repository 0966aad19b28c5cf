// RUN: rapt-opt %s --attn-cuda-expand-linear --verify-diagnostics --split-input-file

func.func @host(%x: memref<8x40xf16>, %w: memref<64x40xf16>, %y: memref<8x64xf32>) {
  // expected-error@+1 {{is expanded in a GPU module, on buffers}}
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<8x64xf32>) {columns = 64 : i64, depth = 32 : i64, rows = 16 : i64, stages = 2 : i64, warps = 2 : i64}
      : memref<8x40xf16>, memref<64x40xf16>
  return
}

// -----

gpu.module @kernels {
  func.func @tensors(%x: tensor<8x40xf16>, %w: tensor<64x40xf16>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error@+1 {{is expanded in a GPU module, on buffers}}
    %0 = attn_gpu.linear_tile %x, %w transposed outs(%y : tensor<8x64xf32>) {columns = 64 : i64, depth = 32 : i64, rows = 16 : i64, stages = 2 : i64, warps = 2 : i64}
        : tensor<8x40xf16>, tensor<64x40xf16> -> tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  }
}
