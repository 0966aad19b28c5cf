// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

func.func private @task(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
  return
}

func.func private @alone(%begin: index, %end: index, %worker: index) {
  return
}

// CHECK-LABEL: @run
func.func @run(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
  // CHECK: attn_host.parallel_for @task(%{{.*}}) count %{{.*}} env %{{.*}} : (memref<?xf32>), !llvm.ptr
  attn_host.parallel_for @task(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
  // CHECK: attn_host.parallel_for @alone() count %{{.*}} env %{{.*}} : (), !llvm.ptr
  attn_host.parallel_for @alone() count %n env %env : (), !llvm.ptr
  return
}
