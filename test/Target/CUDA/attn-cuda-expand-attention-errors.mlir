// RUN: rapt-opt %s --attn-cuda-expand --verify-diagnostics --split-input-file

func.func @host(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{is expanded in a GPU module, on buffers}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

gpu.module @kernels {
  func.func @tensors(%q: tensor<?x64xbf16>, %scale: f32) -> tensor<?x64xbf16> {
    // expected-error@+1 {{is expanded in a GPU module, on buffers}}
    %0 = attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : tensor<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<?x64xbf16>
    return %0 : tensor<?x64xbf16>
  }
}

// -----

gpu.module @kernels {
  func.func @strided(%q: memref<?x64xbf16, strided<[128, 2]>>, %k: memref<?x64xbf16>, %scale: f32) {
    // expected-error@+1 {{takes arrays whose channels are beside each other}}
    attn_gpu.attention_tile %q, %k, %k scale %scale outs(%k : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16, strided<[128, 2]>>, memref<?x64xbf16>, memref<?x64xbf16>
    return
  }
}
