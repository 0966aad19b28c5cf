// RUN: rapt-opt %s --attn-lower-products --split-input-file | FileCheck %s

// 512-bit registers, 32 of them: all 8 rows by two vectors at once, started from zero without a read of the result.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @wide
  func.func @wide(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
    %f0 = arith.constant 0.0 : f32
    // CHECK-NOT: linalg.fill
    // CHECK-NOT: vector.transfer_read %arg2
    // CHECK: scf.for
    // CHECK-COUNT-2: vector.transfer_read %arg1
    // CHECK-COUNT-16: vector.fma {{.*}} : vector<16xf32>
    // CHECK-NOT: vector.fma
    linalg.fill ins(%f0 : f32) outs(%c : memref<8x32xf32>)
    linalg.matmul ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}

// -----

// 256-bit registers, 16 of them: 4 rows by two vectors, four times; the result is read because nothing says it is zero.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @narrow
  func.func @narrow(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
    // CHECK-COUNT-8: vector.transfer_read {{.*}} vector<8xf32>
    // CHECK: scf.for
    // CHECK-COUNT-8: vector.fma {{.*}} : vector<8xf32>
    // CHECK-NOT: vector.fma
    // CHECK: scf.yield
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: scf.for
    linalg.matmul ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
    return
  }
}

// -----

// One row: four chains, and 16-bit weights widened as they are loaded.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @row
  func.func @row(%a: memref<1x64xf32>, %b: memref<64x32xbf16>, %c: memref<1x32xf32>) {
    // CHECK: scf.for {{.*}} step %c4
    // CHECK: vector.transfer_read %arg1{{.*}} vector<16xbf16>
    // CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
    // CHECK-COUNT-8: vector.fma
    linalg.matmul ins(%a, %b : memref<1x64xf32>, memref<64x32xbf16>) outs(%c : memref<1x32xf32>)
    return
  }
}

// -----

// A fill that the product does not start from directly becomes vectors, and the result is read.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @written_between
  func.func @written_between(%a: memref<2x64xf32>, %b: memref<64x32xf32>, %c: memref<2x32xf32>, %x: f32, %i: index) {
    %f0 = arith.constant 0.0 : f32
    // CHECK: vector.transfer_write {{.*}} vector<2x32xf32>, memref<2x32xf32>
    // CHECK: memref.store
    // CHECK-COUNT-4: vector.transfer_read %arg2
    // CHECK: scf.for
    linalg.fill ins(%f0 : f32) outs(%c : memref<2x32xf32>)
    memref.store %x, %c[%i, %i] : memref<2x32xf32>
    linalg.matmul ins(%a, %b : memref<2x64xf32>, memref<64x32xf32>) outs(%c : memref<2x32xf32>)
    return
  }

  // So it is with a fill of another number.
  // CHECK-LABEL: @from_one
  func.func @from_one(%a: memref<2x64xf32>, %b: memref<64x32xf32>, %c: memref<2x32xf32>) {
    %f1 = arith.constant 1.0 : f32
    // CHECK: vector.transfer_write {{.*}} vector<2x32xf32>, memref<2x32xf32>
    // CHECK-COUNT-4: vector.transfer_read %arg2
    linalg.fill ins(%f1 : f32) outs(%c : memref<2x32xf32>)
    linalg.matmul ins(%a, %b : memref<2x64xf32>, memref<64x32xf32>) outs(%c : memref<2x32xf32>)
    return
  }
}
