// RUN: rapt-opt %s --attn-gpu-outline-kernels --verify-diagnostics --split-input-file

func.func @f(%env: !llvm.ptr, %n: index) attributes {attn.entry} {
  // expected-error@+1 {{'attn_host.parallel_for' op has a task 'task' without code}}
  attn_host.parallel_for @task() count %n env %env : (), !llvm.ptr
  return
}
func.func private @task(%begin: index, %end: index, %worker: index)

// -----

// A store would be that of every thread of the block.
func.func @f(%env: !llvm.ptr, %x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @task(%x, %w, %y) count %n env %env : (memref<16x40xf16>, memref<64x40xf16>, memref<16x64xf32>), !llvm.ptr
  return
}
func.func private @task(%x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %begin: index, %end: index, %worker: index) {
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : memref<16x40xf16>, memref<64x40xf16>
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'memref.store' op is in a task that a thread block executes, but not by all its threads}}
  memref.store %zero, %y[%begin, %begin] : memref<16x64xf32>
  return
}

// -----

// Tiles of one task have the same threads.
func.func @f(%env: !llvm.ptr, %x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @task(%x, %w, %y) count %n env %env : (memref<16x40xf16>, memref<64x40xf16>, memref<16x64xf32>), !llvm.ptr
  return
}
func.func private @task(%x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %begin: index, %end: index, %worker: index) {
  // expected-error@+1 {{'attn_gpu.linear_tile' op is in a task that a thread block executes, but not by all its threads}}
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 1, stages = 2>
      : memref<16x40xf16>, memref<64x40xf16>
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : memref<16x40xf16>, memref<64x40xf16>
  return
}

// -----

// Scratch is a thread's.
func.func @f(%env: !llvm.ptr, %x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @task(%x, %w, %y) count %n env %env : (memref<16x40xf16>, memref<64x40xf16>, memref<16x64xf32>), !llvm.ptr
  return
}
// expected-error@+1 {{has scratch, and is a task that a thread block executes}}
func.func private @task(%x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %begin: index, %end: index, %worker: index) {
  %0 = memref.dim %x, %worker : memref<16x40xf16>
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : memref<16x40xf16>, memref<64x40xf16>
  return
}
