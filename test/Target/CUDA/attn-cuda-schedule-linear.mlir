// RUN: rapt-opt %s --attn-cuda-schedule-linear --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: rapt-opt %s --attn-cuda-schedule-linear --split-input-file | FileCheck %s

// A number of rows that is not known has tiles for few rows, too.
// CHECK: #[[DYNAMIC:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, few = <columns = 64, depth = 64, rows = 16, stages = 5, warps = 4>, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @dynamic
// CHECK: attn.linear {{.*}} {attn.schedule = #[[DYNAMIC]]}
func.func @dynamic(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>) -> tensor<?x24xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// -----

// CHECK: #[[FEW:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 16, stages = 5, warps = 4>>
// CHECK-LABEL: func.func @few
// CHECK: attn.linear {{.*}} transposed {attn.schedule = #[[FEW]]}
func.func @few(%x: tensor<16x40xf16>, %w: tensor<24x40xf16>) -> tensor<16x24xf16> {
  %y = attn.linear %x, %w transposed : tensor<16x40xf16>, tensor<24x40xf16> -> tensor<16x24xf16>
  return %y : tensor<16x24xf16>
}

// -----

// CHECK: #[[MANY:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @many
// CHECK: attn.linear {{.*}} {attn.schedule = #[[MANY]]}
func.func @many(%x: tensor<17x40xf16>, %w: tensor<40x24xf16>) -> tensor<17x24xf16> {
  %y = attn.linear %x, %w : tensor<17x40xf16>, tensor<40x24xf16> -> tensor<17x24xf16>
  return %y : tensor<17x24xf16>
}

// -----

// Near misses have no schedule, and say why.
// CHECK-NOT: attn.schedule
// REMARK: [[#@LINE+2]]:8: remark: [Missed] schedule | Category:fusion | Reason="its neutral decomposition is compiled, since tensor cores take inputs of bf16 or f16"
func.func @full(%x: tensor<?x40xf32>, %w: tensor<40x24xbf16>) -> tensor<?x24xf32> {
  %y = attn.linear %x, %w : tensor<?x40xf32>, tensor<40x24xbf16> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
// REMARK: [[#@LINE+2]]:8: remark: [Missed] schedule | Category:fusion | Reason="its neutral decomposition is compiled, since input and weight have different element types"
func.func @mixed(%x: tensor<?x40xbf16>, %w: tensor<40x24xf32>) -> tensor<?x24xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xf32> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
// A layout of the CPU, with rows of a type that tensor cores take.
// REMARK: [[#@LINE+2]]:8: remark: {{.*}} Reason="its neutral decomposition is compiled, since its weight is in a layout of another target"
func.func @panels(%x: tensor<?x64xbf16>, %w: tensor<8x32x64xbf16>) -> tensor<?x256xf32> {
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<8x32x64xbf16> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
// REMARK: [[#@LINE+2]]:8: remark: {{.*}} Reason="its neutral decomposition is compiled, since tensor cores take inputs of bf16 or f16"
func.func @quantized(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<96x64x!attn.quantized<u4 group 32 axis 1>>) -> tensor<?x96xf32> {
  %y = attn.linear %x, %w transposed : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<96x64x!attn.quantized<u4 group 32 axis 1>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
