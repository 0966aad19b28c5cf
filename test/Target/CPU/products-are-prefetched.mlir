// RUN: rapt-opt %s --attn-lower-products --attn-prefetch-panels | FileCheck %s

// The one pass makes the loops that the other knows.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @wide
  func.func @wide(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
    // CHECK: scf.for
    // CHECK-COUNT-2: memref.prefetch %arg1
    // CHECK-COUNT-16: vector.fma
    linalg.matmul ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}
