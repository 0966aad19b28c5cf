// RUN: rapt-opt %s --attn-gpu-tile | FileCheck %s

// A thread block quantizes a row; a tile of the matmul has the bytes of its panels of 32 columns. Two matmuls of one input share its quantized rows.
// CHECK-LABEL: func.func @f
// CHECK: scf.forall
// CHECK: attn_gpu.quantize_tile {{.*}} {group = 32 : i64, period = 0 : i64}
// CHECK-NOT: attn_gpu.quantize_tile
// CHECK: scf.forall
// CHECK: tensor.extract_slice %{{.*}} [%{{.*}}, 4, 576] [1, 1, 1] : tensor<3x4x576xi8>
// CHECK: attn_gpu.quantized_linear_tile {{.*}} tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
// CHECK: attn_gpu.quantized_linear_tile
// CHECK-NOT: attn.linear
attn.parameter @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>, offset = 0 : i64, stride = 6912 : i64}
func.func @f(%x: tensor<?x128xf32>) -> (tensor<?x80xf32>, tensor<?x80xf32>) {
  %codes = attn.quantize_rows %x : tensor<?x128xf32> -> tensor<?x128x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>>
  %y = attn.linear %codes, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3>>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  %z = attn.linear %codes, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3>>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  return %y, %z : tensor<?x80xf32>, tensor<?x80xf32>
}
