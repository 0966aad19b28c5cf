// RUN: rapt-opt %s --attn-cuda-expand --verify-diagnostics --split-input-file

func.func @host(%x: memref<8x40xf16>, %w: memref<64x40xf16>, %y: memref<8x64xf32>) {
  // expected-error@+1 {{is expanded in a GPU module, on buffers}}
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<8x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : memref<8x40xf16>, memref<64x40xf16>
  return
}

// -----

gpu.module @kernels {
  func.func @tensors(%x: tensor<8x40xf16>, %w: tensor<64x40xf16>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error@+1 {{is expanded in a GPU module, on buffers}}
    %0 = attn_gpu.linear_tile %x, %w transposed outs(%y : tensor<8x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
        : tensor<8x40xf16>, tensor<64x40xf16> -> tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  }
}

// -----

// Warpgroups that copy and multiply cannot begin anew with another tile.
gpu.module @kernels {
  func.func @two(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index) {
    // expected-error@+1 {{by wgmma is the only tile of its task, in it or in a loop that writes nothing else}}
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
    return
  }
}

// -----

// A loop over tiles is executed by both.
gpu.module @kernels {
  func.func @writes(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index, %o: memref<?xindex>) {
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %n step %c1 {
      memref.store %i, %o[%i] : memref<?xindex>
      // expected-error@+1 {{by wgmma is the only tile of its task, in it or in a loop that writes nothing else}}
      attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
    }
    return
  }
}

// -----

// It carries nothing.
gpu.module @kernels {
  func.func @carries(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index) -> index {
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%j = %c1) -> index {
      // expected-error@+1 {{by wgmma is the only tile of its task, in it or in a loop that writes nothing else}}
      attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
      scf.yield %i : index
    }
    return %r : index
  }
}

// -----

// Some threads alone never wait for the others.
gpu.module @kernels {
  func.func @branch(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index, %c: i1) {
    scf.if %c {
      // expected-error@+1 {{by wgmma is the only tile of its task, in it or in a loop that writes nothing else}}
      attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
    }
    return
  }
}

// -----

// Maps are those of the kernel.
gpu.module @kernels {
  func.func @maps(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index, %a: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %n step %c1 {
      %made = arith.cmpi eq, %i, %c1 : index
      // expected-error@+1 {{by wgmma is the only tile of its task, in it or in a loop that writes nothing else}}
      attn_gpu.linear_tile %x, %w transposed maps(%a at [%n, %n], %a at [%n, %n] if %made : !llvm.ptr, !llvm.ptr) outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 3, matmul = wgmma> : memref<128x40xf16>, memref<128x40xf16>
    }
    return
  }
}
