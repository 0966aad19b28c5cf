// RUN: rapt-opt %s --attn-cpu-tile | FileCheck %s

// 16 registers and no int8 dot product: rows for weights of 8 bits are in words; for weights of 4 bits they are in bytes, and a
// panel is unpacked once for all tiles of 12 rows, where a task has as many as 24.
#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 2, rows = 6>, rows = [12, 1], task_rows = 24, widen_rows = 24>
#ones = #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 2, rows = 6>, rows = [1], task_rows = 1, widen_rows = 24>
#bytes = #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 2, rows = 6>, rows = [12, 1], task_rows = 24>
#streams = #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 2, rows = 6, wide_rows = 1>, row_panels = 2, rows = [6, 1], task_rows = 6, tasks = 1, widen_rows = 24>

module attributes {attn.target = {int8_pairs, vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  attn.parameter @narrow : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> from [#attn.source<"n">]
    {layout = #attn_cpu.packed<shape = [64, 64], interleave = 8>, offset = 0 : i64, stride = 2560 : i64}
  attn.parameter @five : tensor<5x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> from [#attn.source<"f">]
    {layout = #attn_cpu.packed<shape = [64, 160], interleave = 8>, offset = 16384 : i64, stride = 6400 : i64}
  attn.parameter @wide : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">]
    {layout = #attn_cpu.packed<shape = [64, 64], interleave = 4>, offset = 4096 : i64, stride = 4352 : i64}

  // CHECK-LABEL: @both
  func.func @both(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    // CHECK: scf.forall {{.*}} -> (tensor<?x192xi8>)
    // CHECK: arith.trunci {{.*}} : vector<32xi32> to vector<32xi16>
    // CHECK: vector.bitcast {{.*}} : vector<32xi16> to vector<64xi8>
    // CHECK: scf.forall {{.*}} -> (tensor<?x128xi8>)
    // CHECK: arith.trunci {{.*}} : vector<32xi32> to vector<32xi8>
    %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
    %n = attn.parameter_slice @narrow : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>>
    %w = attn.parameter_slice @wide : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>>
    // CHECK: arith.cmpi uge, %{{.*}}, %c24
    // CHECK: tensor.empty() : tensor<4x640xi8>
    // A line of codes, their low and high nibbles; scales in f32; zero points in i32.
    // CHECK: vector.transfer_read {{.*}} vector<64xi8>
    // CHECK: arith.shrui {{.*}} : vector<16xi32>
    // CHECK-COUNT-2: arith.andi {{.*}} : vector<16xi32>
    // CHECK: arith.extui {{.*}} : vector<16xi16> to vector<16xi32>
    // CHECK: arith.shli
    // CHECK: arith.extui {{.*}} : vector<16xi8> to vector<16xi32>
    // CHECK: attn_cpu.quantized_matmul {{.*}} unpacked {{.*}} : tensor<12x128xi8>, tensor<4x640xi8>, tensor<12x32xf32>
    // CHECK: attn_cpu.quantized_matmul
    // CHECK-NOT: unpacked
    // CHECK-SAME: tensor<1x128xi8>, tensor<2x640xi8>
    %y = attn.linear %q, %n {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> -> tensor<?x64xf32>
    // CHECK: attn_cpu.quantized_matmul {{.*}} words {{.*}} : tensor<12x192xi8>, tensor<2x1088xi8>, tensor<12x32xf32>
    %z = attn.linear %q, %w {attn.schedule = #bytes, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> -> tensor<?x64xf32>
    return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
  }

  // A single row reads two panels of 4 bits side by side, all groups of each, and the last one alone.
  // CHECK-LABEL: @side_by_side
  func.func @side_by_side(%x: tensor<?x64xf32>) -> tensor<?x160xf32> {
    // CHECK: %[[ROW:.*]] = arith.cmpi eq, %{{.*}}, %c1
    // CHECK: scf.for {{.*}} step %c2
    // CHECK: attn_cpu.quantized_matmul {{.*}} : tensor<1x128xi8>, tensor<2x2x640xi8>, tensor<1x64xf32> -> tensor<1x64xf32>
    // CHECK: attn_cpu.quantized_matmul {{.*}} : tensor<1x128xi8>, tensor<1x2x640xi8>, tensor<1x32xf32> -> tensor<1x32xf32>
    // CHECK: arith.select %[[ROW]], %c0{{.*}}, %c1
    // CHECK: attn_cpu.quantized_matmul {{.*}} unpacked {{.*}} : tensor<6x128xi8>, tensor<4x640xi8>, tensor<6x32xf32>
    // CHECK: attn_cpu.quantized_matmul {{.*}} : tensor<1x128xi8>, tensor<2x640xi8>, tensor<1x32xf32>
    %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
    %n = attn.parameter_slice @five : tensor<5x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>>
    %y = attn.linear %q, %n {attn.schedule = #streams, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<5x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> -> tensor<?x160xf32>
    return %y : tensor<?x160xf32>
  }

  // Near miss: tiles of one size take all rows, however few.
  // CHECK-LABEL: @ones
  func.func @ones(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
    %n = attn.parameter_slice @narrow : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>>
    // CHECK-NOT: arith.cmpi uge
    // CHECK: attn_cpu.quantized_matmul {{.*}} unpacked {{.*}} : tensor<1x128xi8>
    %y = attn.linear %q, %n {attn.schedule = #ones, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u4 group 32 axis 0 zero_points = true>> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}
