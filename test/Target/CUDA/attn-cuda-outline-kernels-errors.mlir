// RUN: rapt-opt %s --attn-cuda-outline-kernels --verify-diagnostics

func.func @f(%env: !llvm.ptr, %n: index) attributes {attn.entry} {
  // expected-error@+1 {{'attn_host.parallel_for' op has a task 'task' without code}}
  attn_host.parallel_for @task() count %n env %env : (), !llvm.ptr
  return
}
func.func private @task(%begin: index, %end: index, %worker: index)
