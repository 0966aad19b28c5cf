// RUN: rapt-opt %s --attn-lower-products --split-input-file --verify-diagnostics

func.func @ragged(%a: memref<8x64xf32>, %b: memref<64x33xf32>, %c: memref<8x33xf32>) {
  // expected-error @+1 {{is not a tile of whole panels of static shape in memory}}
  linalg.matmul ins(%a, %b : memref<8x64xf32>, memref<64x33xf32>) outs(%c : memref<8x33xf32>)
  return
}

// -----

func.func @dynamic(%a: memref<?x64xf32>, %b: memref<64x32xf32>, %c: memref<?x32xf32>) {
  // expected-error @+1 {{is not a tile of whole panels of static shape in memory}}
  linalg.matmul ins(%a, %b : memref<?x64xf32>, memref<64x32xf32>) outs(%c : memref<?x32xf32>)
  return
}

// -----

func.func @tensors(%a: tensor<8x64xf32>, %b: tensor<64x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{is not a tile of whole panels of static shape in memory}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

func.func @depth(%a: memref<8x?xf32>, %b: memref<?x32xf32>, %c: memref<8x32xf32>) {
  // expected-error @+1 {{is not a tile of whole panels of static shape in memory}}
  linalg.matmul ins(%a, %b : memref<8x?xf32>, memref<?x32xf32>) outs(%c : memref<8x32xf32>)
  return
}
