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

// -----

func.func @beyond(%x: memref<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'memref.dim' op asks for dim 2 of 'memref<?x8xf32>', which has 2}}
  %d = memref.dim %x, %c2 : memref<?x8xf32>
  return %d : index
}
