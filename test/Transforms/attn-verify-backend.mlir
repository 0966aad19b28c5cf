// RUN: rapt-opt %s --attn-verify-backend --verify-diagnostics --split-input-file

func.func @allocates() {
  // expected-error@+1 {{is left: the backend stage promises code that neither allocates nor copies buffers}}
  %t = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @copies(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{is left: the backend stage promises code that neither allocates nor copies buffers}}
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @tensors() {
  // expected-error@+1 {{gives a tensor: the backend stage promises buffers}}
  %e = tensor.empty() : tensor<4xf32>
  return
}

// -----

// Near miss: scratch on the stack is no allocation.
func.func @stack() {
  %t = memref.alloca() : memref<4xf32>
  return
}
