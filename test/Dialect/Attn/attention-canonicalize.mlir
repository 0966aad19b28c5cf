// RUN: rapt-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: @merge_of_split
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>)
func.func @merge_of_split(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %1 = attn.merge_heads %0 : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: @split_of_merge
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x16xf32>)
func.func @split_of_merge(%x: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %1 = attn.split_heads %0 : tensor<?x64xf32> -> tensor<?x4x16xf32>
  return %1 : tensor<?x4x16xf32>
}

// Part of the columns, or other heads: both ops stay.
// CHECK-LABEL: @part
func.func @part(%x: tensor<?x64xf32>) -> tensor<?x32xf32> {
  // CHECK: attn.split_heads
  // CHECK: attn.merge_heads
  %0, %1 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %2 = attn.merge_heads %0 : tensor<?x2x16xf32> -> tensor<?x32xf32>
  return %2 : tensor<?x32xf32>
}

// CHECK-LABEL: @other_heads
func.func @other_heads(%x: tensor<?x4x16xf32>) -> tensor<?x2x32xf32> {
  // CHECK: attn.merge_heads
  // CHECK: attn.split_heads
  %0 = attn.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %1 = attn.split_heads %0 : tensor<?x64xf32> -> tensor<?x2x32xf32>
  return %1 : tensor<?x2x32xf32>
}
