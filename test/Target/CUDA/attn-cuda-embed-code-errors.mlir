// RUN: rapt-opt %s --attn-cuda-embed-code --verify-diagnostics

// expected-error@+1 {{device code is neither PTX nor machine code of an NVIDIA GPU}}
module {
  llvm.mlir.global external constant @rapt.device_code() {addr_space = 0 : i32} : !llvm.struct<(i32, i32, ptr, i64)>
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">, offload = "bitcode">]
}
