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
  attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 4>}
    : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
  return
}

// -----

module attributes {attn.target = {int8_dot, vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @words(%rows: memref<4x192xi8>, %panel: memref<1x2112xi8>, %dest: memref<4x32xf32>) {
    // expected-error@+1 {{reads rows in words, which no instruction of the target multiplies by '!attn.quantized<u8 group 0 axis 0>'}}
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 0 axis 0> words {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 4>}
      : memref<4x192xi8>, memref<1x2112xi8>, memref<4x32xf32>
    return
  }
}

// -----

module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @unpacked(%rows: memref<4x128xi8>, %panel: memref<4x576xi8>, %dest: memref<4x32xf32>) {
    // expected-error@+1 {{reads an unpacked panel, which no instruction of the target multiplies by '!attn.quantized<u4 group 32 axis 0>'}}
    attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> unpacked {attn.schedule = #attn_cpu.micro_kernel<columns = 16, group_rows = 3, rows = 4>}
      : memref<4x128xi8>, memref<4x576xi8>, memref<4x32xf32>
    return
  }
}

// -----

module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @several(%row: memref<1x128xi8>, %panels: memref<2x2x576xi8>, %dest: memref<1x64xf32>) {
    // expected-error@+1 {{reads panels side by side, which is done in vectors of 32 bytes alone}}
    attn_cpu.quantized_matmul %row, %panels, %dest depth 64 of !attn.quantized<u4 group 32 axis 0> {attn.schedule = #attn_cpu.micro_kernel<columns = 16, group_rows = 3, rows = 4>}
      : memref<1x128xi8>, memref<2x2x576xi8>, memref<1x64xf32>
    return
  }
}

// -----

func.func @none(%rows: memref<4x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.quantized_matmul' op has no attn.schedule, which attn-cpu-schedule sets}}
  attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
  return
}
