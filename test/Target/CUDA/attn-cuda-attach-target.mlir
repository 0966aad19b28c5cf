// RUN: rapt-opt %s --attn-cuda-attach-target | FileCheck %s

// The target of the text gives way to that of the module.
// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx{{[0-9]+}}">]
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
  gpu.module @kernels [#nvvm.target<chip = "sm_50">] {
  }
}
