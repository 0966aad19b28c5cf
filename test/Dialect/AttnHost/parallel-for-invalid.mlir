// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @no_task(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.parallel_for' op names 'task', which is no function}}
  attn_host.parallel_for @task() count %n env %env : (), !llvm.ptr
  return
}

// -----

func.func private @task(%x: memref<?xf32>, %begin: index, %end: index)
func.func @worker(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
  // expected-error@+1 {{task 'task' must take the captures, then begin, end and worker}}
  attn_host.parallel_for @task(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
  return
}

// -----

func.func private @task(%x: memref<?xi32>, %begin: index, %end: index, %worker: index)
func.func @capture(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
  // expected-error@+1 {{task 'task' must take the captures, then begin, end and worker}}
  attn_host.parallel_for @task(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
  return
}
