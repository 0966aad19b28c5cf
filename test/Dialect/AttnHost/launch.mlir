// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK: gpu.module @kernels
gpu.module @kernels {
  func.func @scale(%x: memref<?xf32>, %n: index) attributes {attn_host.kernel = #attn_host.kernel<threads = 128>} {
    return
  }
}
// CHECK-LABEL: func.func @run
// CHECK: attn_host.launch @kernels::@scale(%{{.*}}, %[[N:.*]]) blocks %[[N]] env %{{.*}} : (memref<?xf32>, index), !llvm.ptr
func.func @run(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
  attn_host.launch @kernels::@scale(%x, %n) blocks %n env %env : (memref<?xf32>, index), !llvm.ptr
  return
}
