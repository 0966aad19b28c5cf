// RUN: rapt-opt %s --split-input-file --verify-diagnostics

func.func @twice(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs each dim of the array once in 'dims'}}
  %map, %made = attn_host.tensor_map %x dims [1, 1] box [64, 8] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @beyond(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs each dim of the array once in 'dims'}}
  %map, %made = attn_host.tensor_map %x dims [1, 2] box [64, 8] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @missing(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs an array of 1 to 5 dims, and each of them once in 'dims'}}
  %map, %made = attn_host.tensor_map %x dims [1] box [64] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @six(%env: !llvm.ptr, %x: memref<1x1x1x1x1x64xbf16>) {
  // expected-error@+1 {{needs an array of 1 to 5 dims}}
  %map, %made = attn_host.tensor_map %x dims [5, 4, 3, 2, 1, 0] box [64, 1, 1, 1, 1, 1] swizzle 128 env %env : memref<1x1x1x1x1x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @order(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs a first dim whose elements are beside each other}}
  %map, %made = attn_host.tensor_map %x dims [0, 1] box [64, 8] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @box(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs from 1 to 256 elements of a box along each dim}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [64, 257] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @short(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs from 1 to 256 elements of a box along each dim}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [64] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @element(%env: !llvm.ptr, %x: memref<?x64xf64>) {
  // expected-error@+1 {{needs elements of 1, 2 or 4 bytes, found 'f64'}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [16, 8] swizzle 128 env %env : memref<?x64xf64>, !llvm.ptr
  return
}

// -----

func.func @swizzle(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{needs a swizzle of 0, 32, 64 or 128 bytes}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [64, 8] swizzle 96 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @long(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{rows of a box of a multiple of 16 bytes that are not longer}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [64, 8] swizzle 64 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}

// -----

func.func @odd(%env: !llvm.ptr, %x: memref<?x64xbf16>) {
  // expected-error@+1 {{rows of a box of a multiple of 16 bytes}}
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [9, 8] swizzle 0 env %env : memref<?x64xbf16>, !llvm.ptr
  return
}
