// RUN: rapt-opt %s --attn-cast-activations --split-input-file | FileCheck %s

// Two matmuls of one input share its rows in bf16, which are padded.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @shared
  func.func @shared(%x: tensor<?x35xf32>, %w: tensor<2x18x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK: %[[ROWS:.*]] = attn_cpu.cast_rows %arg0 : tensor<?x35xf32> -> tensor<?x64xbf16>
    // CHECK-NOT: attn_cpu.cast_rows
    // CHECK: attn.linear %[[ROWS]], %arg1 {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x18x64xbf16>
    // CHECK: attn.linear %[[ROWS]], %arg1
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x35xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    %1 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x35xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
  }

  // Near misses: f32, f16, and bf16 that is not VNNI-packed.
  // CHECK-LABEL: @others
  func.func @others(%x: tensor<?x64xf32>, %a: tensor<2x64x32xf32>, %b: tensor<2x64x32xf16>, %c: tensor<64x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK-NOT: attn_cpu.cast_rows
    %0 = attn.linear %x, %a {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    %1 = attn.linear %x, %b {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf16> -> tensor<?x64xf32>
    %2 = attn.linear %x, %c : tensor<?x64xf32>, tensor<64x64xbf16> -> tensor<?x64xf32>
    return %0, %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
  }
}

// -----

// AMX tiles take bf16 as well.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK: attn_cpu.cast_rows
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

// Near miss: a target that widens.
module attributes {attn.target = {int8_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @widened
  func.func @widened(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK-NOT: attn_cpu.cast_rows
    %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}
