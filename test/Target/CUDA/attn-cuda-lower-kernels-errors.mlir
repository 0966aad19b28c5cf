// RUN: rapt-opt %s --attn-cuda-lower-kernels --split-input-file --verify-diagnostics

gpu.module @kernels {
  // expected-error@+1 {{'llvm.func' op takes 4104 bytes of arguments; a kernel can take 4096}}
  llvm.func @large(%x: !llvm.struct<(array<512 x i64>, i64)>) attributes {attn_host.kernel = #attn_host.kernel<threads = 96>} {
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'llvm.func' op is a kernel, which needs code and from 1 to 1024 threads}}
  llvm.func @threads() attributes {attn_host.kernel = #attn_host.kernel<threads = 1025>} {
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'llvm.func' op is a kernel, which needs code and from 1 to 1024 threads}}
  llvm.func @no_code() attributes {attn_host.kernel = #attn_host.kernel<threads = 32>}
}
