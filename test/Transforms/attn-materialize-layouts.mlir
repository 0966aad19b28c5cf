// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file | FileCheck %s

// Columns are padded to panels of 32; the entry's result keeps its exact width.
// CHECK: attn.parameter @w : tensor<3x50x32xf32> {{.*}} {layout = #attn.layout<panels, shape = [50, 80], column_group = 0, row_group = 0, k = 1>, offset = 0 : i64, stride = 19200 : i64}
// CHECK: attn.parameter @g : tensor<64xf32> {{.*}}offset = 19200
attn.parameter @w : tensor<50x80xf32> from [#attn.source<"w">]
attn.parameter @g : tensor<50xf32> from [#attn.source<"g">]
// CHECK: attn.parameter @t : tensor<7x64xf32> {{.*}}layout<row_major, shape = [7, 50]
attn.parameter @t : tensor<7x50xf32> from [#attn.source<"t">]
// CHECK-LABEL: @exact
func.func @exact(%ids: tensor<?xi32>) -> tensor<?x80xf32> {
  %w = attn.parameter_slice @w : tensor<50x80xf32>
  %g = attn.parameter_slice @g : tensor<50xf32>
  %t = attn.parameter_slice @t : tensor<7x50xf32>
  // CHECK: attn.embedding {{.*}} -> tensor<?x64xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<7x50xf32> -> tensor<?x50xf32>
  // CHECK: attn.rms_norm {{.*}} columns 50 : tensor<?x64xf32>, tensor<64xf32>
  %h = attn.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x50xf32>, tensor<50xf32>
  // CHECK: attn.linear {{.*}} : tensor<?x64xf32>, tensor<3x50x32xf32> -> tensor<?x80xf32>
  %y = attn.linear %h, %w : tensor<?x50xf32>, tensor<50x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// Heads of 16 channels are padded to 32 each: in the columns of the product that makes them, in its bias and in the
// rows of the product that reads them. Layers are stacked.
// CHECK: @qk layers 2 : tensor<2x4x32x32xf32> {{.*}}shape = [32, 64], column_group = 16, row_group = 0
// CHECK: @b layers 2 : tensor<2x128xf32> {{.*}}shape = [64], column_group = 16
// CHECK: @o layers 2 : tensor<2x1x64x32xf32> {{.*}}shape = [32, 32], column_group = 0, row_group = 16
attn.parameter @qk layers 2 : tensor<2x32x64xf32> from [#attn.source<"{layer}.qk">]
attn.parameter @b layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.b">]
attn.parameter @o layers 2 : tensor<2x32x32xf32> from [#attn.source<"{layer}.o">]
// CHECK-LABEL: @heads
func.func @heads(%ids: tensor<?xi32>, %t: tensor<7x32xf32>, %l: index) -> tensor<?x32xf32> {
  %qk = attn.parameter_slice @qk[%l] : tensor<32x64xf32>
  %b = attn.parameter_slice @b[%l] : tensor<64xf32>
  %o = attn.parameter_slice @o[%l] : tensor<32x32xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<7x32xf32> -> tensor<?x32xf32>
  %y = attn.linear %x, %qk, (%b) : tensor<?x32xf32>, tensor<32x64xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  // CHECK: attn.split_heads %{{.*}} : tensor<?x128xf32> -> tensor<?x2x32xf32>, tensor<?x2x32xf32>
  %q, %k = attn.split_heads %y : tensor<?x64xf32> -> tensor<?x2x16xf32>, tensor<?x2x16xf32>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %m = attn.merge_heads %q : tensor<?x2x16xf32> -> tensor<?x32xf32>
  %z = attn.linear %m, %o : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// A tied table serves the embedding from the panels of the product; the flip of the orientation moves into the source.
// CHECK: @wte : tensor<4x32x32xf32> from [#attn.source<"wte", transpose = true>]
attn.parameter @wte : tensor<97x32xf32> from [#attn.source<"wte">]
// CHECK-LABEL: @tied
func.func @tied(%ids: tensor<?xi32>) -> tensor<?x97xf32> {
  %t = attn.parameter_slice @wte : tensor<97x32xf32>
  // CHECK: attn.embedding {{.*}} tensor<4x32x32xf32> -> tensor<?x32xf32>
  %x = attn.embedding %ids, %t : tensor<?xi32>, tensor<97x32xf32> -> tensor<?x32xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<4x32x32xf32> -> tensor<?x97xf32>
  %y = attn.linear %x, %t transposed : tensor<?x32xf32>, tensor<97x32xf32> -> tensor<?x97xf32>
  return %y : tensor<?x97xf32>
}
