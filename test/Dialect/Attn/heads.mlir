// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// Queries, keys and values beside one another in one tensor; merged again.
// CHECK-LABEL: @packed
func.func @packed(%x: tensor<?x96xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.split_heads %{{.*}} : tensor<?x96xf32> -> tensor<?x4x16xf32>, tensor<?x1x16xf32>, tensor<?x1x16xf32>
  %q, %k, %v = attn.split_heads %x : tensor<?x96xf32> -> tensor<?x4x16xf32>, tensor<?x1x16xf32>, tensor<?x1x16xf32>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %0 = attn.merge_heads %q : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Grouped queries are [tokens, key heads, queries of one key head, channels].
// CHECK-LABEL: @grouped
func.func @grouped(%x: tensor<5x96xf32>) -> tensor<5x96xf32> {
  // CHECK: attn.split_heads %{{.*}} : tensor<5x96xf32> -> tensor<5x2x3x16xf32>
  %q = attn.split_heads %x : tensor<5x96xf32> -> tensor<5x2x3x16xf32>
  // CHECK: attn.merge_heads %{{.*}} : tensor<5x2x3x16xf32> -> tensor<5x96xf32>
  %0 = attn.merge_heads %q : tensor<5x2x3x16xf32> -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}
