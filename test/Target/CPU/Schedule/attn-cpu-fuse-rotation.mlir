// RUN: rapt-opt %s --attn-cpu-fuse --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-cpu-fuse --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS

// Rotations of heads that one matmul makes.
// SAYS: [Passed] fuse-rotation | Category:fusion | Fused="into attn.linear, which makes its input"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="no matmul makes its heads"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="the matmul's columns are heads of several kinds"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="the heads are read before they are rotated"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="its heads do not fill whole packed panels"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="its angles are computed after the matmul"
// SAYS: [Missed] fuse-rotation | Category:fusion | Reason="the CPU's tiles do not take the matmul that would compute it"
// SAYS-NOT: {{.}}

// CHECK-LABEL: @rotated
func.func @rotated(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x2x64xf32> {
  // CHECK: %[[Q:.*]] = attn.linear
  // CHECK: %[[H:.*]] = attn.split_heads %[[Q]]
  // CHECK: attn.rope %[[H]], %arg2, %arg3 heads 1 {attn_cpu.fused_into = #attn_cpu.root<producer>}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
  %2 = attn.rope %1, %c, %s heads 1 : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %2 : tensor<?x2x64xf32>
}

// Near misses.
// CHECK-NOT: attn_cpu.fused_into
// CHECK-LABEL: @argument
func.func @argument(%h: tensor<?x2x64xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x2x64xf32> {
  %0 = attn.rope %h, %c, %s : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %0 : tensor<?x2x64xf32>
}

// CHECK-LABEL: @kinds
func.func @kinds(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> (tensor<?x1x64xf32>, tensor<?x2x32xf32>) {
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1, %2 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x1x64xf32>, tensor<?x2x32xf32>
  %3 = attn.rope %1, %c, %s : tensor<?x1x64xf32>, tensor<?x32xf32>
  return %3, %2 : tensor<?x1x64xf32>, tensor<?x2x32xf32>
}

// CHECK-LABEL: @read_before
func.func @read_before(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> (tensor<?x2x64xf32>, tensor<?x2x64xf32>) {
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
  %2 = attn.rope %1, %c, %s : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %1, %2 : tensor<?x2x64xf32>, tensor<?x2x64xf32>
}

// CHECK-LABEL: @narrow
func.func @narrow(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %c: tensor<?x24xf32>, %s: tensor<?x24xf32>) -> tensor<?x2x48xf32> {
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  %1 = attn.split_heads %0 : tensor<?x96xf32> -> tensor<?x2x48xf32>
  %2 = attn.rope %1, %c, %s : tensor<?x2x48xf32>, tensor<?x24xf32>
  return %2 : tensor<?x2x48xf32>
}

// CHECK-LABEL: @later
func.func @later(%x: tensor<?x64xf32>, %p: tensor<?xi32>) -> tensor<?x1x32xf32> {
  %wide = arith.constant dense<1.0> : tensor<64x32xf32>
  %0 = attn.linear %x, %wide : tensor<?x64xf32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %1 = attn.split_heads %0 : tensor<?x32xf32> -> tensor<?x1x32xf32>
  %c, %s = attn.rotary_table %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
  %2 = attn.rope %1, %c, %s : tensor<?x1x32xf32>, tensor<?x2xf32>
  return %2 : tensor<?x1x32xf32>
}

// CHECK-LABEL: @not_tiled
func.func @not_tiled(%x: tensor<?x64xf32>, %w: tensor<128x64xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x2x64xf32> {
  %0 = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<128x64xf32> -> tensor<?x128xf32>
  %1 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
  %2 = attn.rope %1, %c, %s : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %2 : tensor<?x2x64xf32>
}
