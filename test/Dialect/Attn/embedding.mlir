// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @embed
func.func @embed(%ids: tensor<?xi32>, %table: tensor<97x64xbf16>, %packed: tensor<4x40x32xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: attn.embedding %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<97x64xbf16> -> tensor<?x64xf32>
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<97x64xbf16> -> tensor<?x64xf32>
  // CHECK: attn.embedding %{{.*}}, %{{.*}} {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x64xf32>
  %1 = attn.embedding %ids, %packed {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x64xf32>
  // CHECK: attn.embedding %{{.*}}, %{{.*}} scale 8.000000e+00 : tensor<?xi32>, tensor<97x64xbf16> -> tensor<?x64xf32>
  %2 = attn.embedding %ids, %table scale 8.0 : tensor<?xi32>, tensor<97x64xbf16> -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @select
func.func @select(%x: tensor<?x64xf32>, %rows: tensor<3xi32>) -> tensor<3x64xf32> {
  // CHECK: attn.select_rows %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<3xi32> -> tensor<3x64xf32>
  %0 = attn.select_rows %x, %rows : tensor<?x64xf32>, tensor<3xi32> -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

// CHECK-LABEL: @write
func.func @write(%x: tensor<?x64xbf16>, %v: tensor<3x64xf32>, %parts: tensor<3x2x64xf32>, %layer: index, %rows: tensor<3xi32>) -> tensor<?x64xbf16> {
  // CHECK: attn.write_rows set %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<3x64xf32>, tensor<3xi32>
  %0 = attn.write_rows set %x, %v, %rows : tensor<?x64xbf16>, tensor<3x64xf32>, tensor<3xi32>
  // CHECK: attn.write_rows add %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : tensor<?x64xbf16>, tensor<3x2x64xf32>, tensor<3xi32>
  %1 = attn.write_rows add %0, %parts[%layer], %rows : tensor<?x64xbf16>, tensor<3x2x64xf32>, tensor<3xi32>
  return %1 : tensor<?x64xbf16>
}

// CHECK-LABEL: @column
func.func @column(%x: tensor<?x2xf32>) -> tensor<?xf32> {
  // CHECK: attn.column %{{.*}}[1] : tensor<?x2xf32> -> tensor<?xf32>
  %0 = attn.column %x[1] : tensor<?x2xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @paired_table
func.func @paired_table(%ids: tensor<?xi32>, %w: tensor<2x20x64xbf16>) -> tensor<?x64xf32> {
  // CHECK: attn.embedding {{.*}} tensor<2x20x64xbf16> -> tensor<?x64xf32>
  %0 = attn.embedding %ids, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?xi32>, tensor<2x20x64xbf16> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
