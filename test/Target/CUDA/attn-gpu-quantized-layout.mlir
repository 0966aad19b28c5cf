// RUN: rapt-opt %s --attn-gpu-quantized-layout --split-input-file | FileCheck %s

// A weight that a matmul reads has panels of 32 columns, and the matmul has the layout. The weight file is 3 panels of 2 groups of 576 bytes.
// CHECK: attn.parameter @w : tensor<3x64x32x!attn.quantized<u4 group 32 axis 0>> {{.*}} {layout = #attn_gpu.quantized_panels<shape = [64, 80], interleave = 8>, offset = 0 : i64, stride = 3456 : i64}
// CHECK-LABEL: func.func @matmul
// CHECK: attn.linear {{.*}} {layout = #attn_gpu.quantized_panels<shape = [64, 80], interleave = 8>}
attn.parameter @w : tensor<64x80x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">]
func.func @matmul(%x: tensor<?x64xbf16>) -> tensor<?x80xbf16> {
  %w = attn.parameter_slice @w : tensor<64x80x!attn.quantized<u4 group 32 axis 0>>
  %q = attn.quantize_rows %x : tensor<?x64xbf16> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x80x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// A table that is only looked up is left to the generic layout.
// CHECK: attn.parameter @table : tensor<45x72x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"t">]
// CHECK-LABEL: func.func @look_up
// CHECK: attn.embedding
attn.parameter @table : tensor<45x72x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"t">]
func.func @look_up(%ids: tensor<?xi32>) -> tensor<?x72xf32> {
  %w = attn.parameter_slice @table : tensor<45x72x!attn.quantized<u8 group 32 axis 1>>
  %y = attn.embedding %ids, %w : tensor<?xi32>, tensor<45x72x!attn.quantized<u8 group 32 axis 1>> -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}

// -----

// Blocks keep their bytes, 3 panels of 2 blocks of 4736 bytes, where a table is looked up and is the head, too.
// CHECK: attn.parameter @w : tensor<3x512x32x!attn.quantized<q4_k group 32 axis 0>> {{.*}} {layout = #attn_gpu.quantized_panels<shape = [512, 80], interleave = 4>, offset = 0 : i64, stride = 28416 : i64}
// CHECK-LABEL: func.func @blocks
// CHECK: attn.parameter_slice @w : tensor<3x2x4736xi8>
// CHECK: tensor.extract {{.*}} : tensor<3x2x4736xi8>
// CHECK-NOT: attn.embedding
// CHECK: attn.linear {{.*}} {layout = #attn_gpu.quantized_panels<shape = [512, 80], interleave = 4>}
attn.parameter @w : tensor<80x512x!attn.quantized<q4_k group 32 axis 1>> from [#attn.source<"w" : q4_k>]
func.func @blocks(%ids: tensor<?xi32>) -> tensor<?x80xf32> {
  %w = attn.parameter_slice @w : tensor<80x512x!attn.quantized<q4_k group 32 axis 1>>
  %x = attn.embedding %ids, %w : tensor<?xi32>, tensor<80x512x!attn.quantized<q4_k group 32 axis 1>> -> tensor<?x512xf32>
  %q = attn.quantize_rows %x : tensor<?x512xf32> -> tensor<?x512x!attn.quantized<s8 group 32 axis 1>>
  %y = attn.linear %q, %w transposed : tensor<?x512x!attn.quantized<s8 group 32 axis 1>>, tensor<80x512x!attn.quantized<q4_k group 32 axis 1>> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}
