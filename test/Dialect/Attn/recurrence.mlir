// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @cells
func.func @cells(%x: tensor<?x7xf32>, %w: tensor<7x7xbf16>, %begin: tensor<4xi32>, %h: tensor<3x7xf32>)
    -> (tensor<?x7xf32>, tensor<3x7xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = attn.recurrence rnn_tanh %{{.*}}, %{{.*}} rows(%{{.*}}) init(%{{.*}}) : tensor<?x7xf32>, tensor<7x7xbf16>, tensor<4xi32>, tensor<3x7xf32>
  %y0, %h0 = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) : tensor<?x7xf32>, tensor<7x7xbf16>, tensor<4xi32>, tensor<3x7xf32>
  // CHECK: attn.recurrence rnn_relu %{{.*}}, %{{.*}} rows(%{{.*}}) init(%{{.*}}) reverse : tensor<?x7xf32>, tensor<7x7xbf16>, tensor<4xi32>, tensor<3x7xf32>
  %y1, %h1 = attn.recurrence rnn_relu %y0, %w rows(%begin) init(%h0) reverse : tensor<?x7xf32>, tensor<7x7xbf16>, tensor<4xi32>, tensor<3x7xf32>
  return %y1, %h1 : tensor<?x7xf32>, tensor<3x7xf32>
}

// In panels: k is below the state's columns.
// CHECK-LABEL: @panels
func.func @panels(%x: tensor<?x192xf32>, %w: tensor<6x33x32xf32>, %b: tensor<192xf32>, %begin: tensor<?xi32>, %h: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.recurrence gru %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<192xf32>) rows(%{{.*}}) init(%{{.*}}) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x192xf32>, tensor<6x33x32xf32>, tensor<?xi32>, tensor<?x64xf32>
  %y, %last = attn.recurrence gru %x, %w bias(%b : tensor<192xf32>) rows(%begin) init(%h) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x192xf32>, tensor<6x33x32xf32>, tensor<?xi32>, tensor<?x64xf32>
  return %last : tensor<?x64xf32>
}

// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x20xf32>, %w: tensor<5x20xf32>, %begin: tensor<?xi32>, %h: tensor<?x5xf32>) -> tensor<?x5xf32> {
  // CHECK: %{{.*}}, %{{.*}}:2 = attn.recurrence lstm %{{.*}}, %{{.*}} rows(%{{.*}}) init(%{{.*}}, %{{.*}}) : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>, tensor<?x5xf32>, tensor<?x5xf32>
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %h) : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>, tensor<?x5xf32>, tensor<?x5xf32>
  // CHECK: %{{.*}}, %{{.*}}:2 = attn.recurrence lstm %{{.*}}, %{{.*}} rows(%{{.*}}) : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>
  %z, %end:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>
  return %last#1 : tensor<?x5xf32>
}

// CHECK-LABEL: @states
func.func @states(%s: tensor<?x5xf32>, %deep: tensor<?x2x5xf32>, %layer: index, %rows: tensor<?xi32>) -> (tensor<?x5xf32>, tensor<?x2x5xf32>) {
  // CHECK: attn.select_rows %{{.*}}[%{{.*}}], %{{.*}} : tensor<?x2x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  %v = attn.select_rows %deep[%layer], %rows : tensor<?x2x5xf32>, tensor<?xi32> -> tensor<?x5xf32>
  // CHECK: attn.update_rows %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  %0 = attn.update_rows %s, %v, %rows : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  // CHECK: attn.update_rows %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : tensor<?x2x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  %1 = attn.update_rows %deep[%layer], %v, %rows : tensor<?x2x5xf32>, tensor<?x5xf32>, tensor<?xi32>
  return %0, %1 : tensor<?x5xf32>, tensor<?x2x5xf32>
}

// CHECK-LABEL: @concat
func.func @concat(%x: tensor<?x5xf32>, %wide: tensor<?x64xf32>) -> (tensor<?x10xf32>, tensor<?x96xf32>) {
  // CHECK: attn.concat %{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?x5xf32>
  %0 = attn.concat %x, %x : tensor<?x5xf32>, tensor<?x5xf32>
  // CHECK: attn.concat %{{.*}}, %{{.*}} columns [33, 33] width 96 : tensor<?x64xf32>, tensor<?x64xf32>
  %1 = attn.concat %wide, %wide columns [33, 33] width 96 : tensor<?x64xf32>, tensor<?x64xf32>
  return %0, %1 : tensor<?x10xf32>, tensor<?x96xf32>
}
