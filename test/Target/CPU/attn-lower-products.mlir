// RUN: rapt-opt %s --attn-lower-products --split-input-file | FileCheck %s

// 512-bit registers, 32 of them: all 8 rows by two vectors at once, started from zero without a read of the result.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @wide
  func.func @wide(%a: tensor<8x64xf32>, %b: tensor<64x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
    %f0 = arith.constant 0.0 : f32
    // CHECK-NOT: linalg.fill
    // CHECK-NOT: vector.transfer_read %arg2
    // CHECK: scf.for
    // CHECK-COUNT-2: vector.transfer_read %arg1
    // CHECK-COUNT-16: vector.fma {{.*}} : vector<16xf32>
    // CHECK-NOT: vector.fma
    %z = linalg.fill ins(%f0 : f32) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}

// -----

// 256-bit registers, 16 of them: 4 rows by two vectors, four times; the result is read because nothing says it is zero.
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @narrow
  func.func @narrow(%a: tensor<8x64xf32>, %b: tensor<64x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
    // CHECK-COUNT-8: vector.transfer_read {{.*}} vector<8xf32>
    // CHECK: scf.for
    // CHECK-COUNT-8: vector.fma {{.*}} : vector<8xf32>
    // CHECK-NOT: vector.fma
    // CHECK: scf.yield
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: scf.for
    %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}

// -----

// One row: four chains, and 16-bit weights widened as they are loaded.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @row
  func.func @row(%a: tensor<1x64xf32>, %b: tensor<64x32xbf16>, %c: tensor<1x32xf32>) -> tensor<1x32xf32> {
    // CHECK: scf.for {{.*}} step %c4
    // CHECK: vector.transfer_read %arg1{{.*}} vector<16xbf16>
    // CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
    // CHECK-COUNT-8: vector.fma
    %0 = linalg.matmul ins(%a, %b : tensor<1x64xf32>, tensor<64x32xbf16>) outs(%c : tensor<1x32xf32>) -> tensor<1x32xf32>
    return %0 : tensor<1x32xf32>
  }
}
