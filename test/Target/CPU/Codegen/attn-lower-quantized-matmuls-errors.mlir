// RUN: rapt-opt %s --attn-lower-quantized-matmuls --split-input-file --verify-diagnostics

func.func @tensors(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // expected-error@+1 {{is not a tile of static shape in memory}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// -----

func.func @groups(%rows: memref<4x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<4x32xf32>) {
  // expected-error@+1 {{has a schedule without 'group_rows', which it needs for weights in quantized groups}}
  attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #attn.schedule<columns = 16, rows = 4>}
    : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
  return
}

// -----

func.func @none(%rows: memref<4x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.quantized_matmul' op has no attn.schedule, which attn-cpu-schedule sets}}
  attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
  return
}
