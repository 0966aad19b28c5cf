// RUN: rapt-opt %s --attn-lower-matmuls --split-input-file --verify-diagnostics

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

// -----

// A tile needs the schedule of its micro-kernel.
func.func @none(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
  // expected-error @+1 {{'linalg.matmul' op has no attn.schedule, which attn-cpu-schedule sets}}
  linalg.matmul ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
  return
}

// -----

func.func @pairs(%a: memref<4x64xf32>, %b: memref<32x64xbf16>, %c: memref<4x32xf32>) {
  // expected-error @+1 {{has a schedule without 'vnni_rows', which it needs where VNNI-packed panels are widened}}
  attn_cpu.vnni_matmul %a, %b, %c {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 6>} : memref<4x64xf32>, memref<32x64xbf16>, memref<4x32xf32>
  return
}
