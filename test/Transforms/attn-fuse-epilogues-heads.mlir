// RUN: rapt-opt %s --attn-fuse-epilogues | FileCheck %s
// RUN: rapt-opt %s --attn-fuse-epilogues --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.activation
// SAYS: [Missed] fuse-epilogue | Category:fusion | Reason="attn.glu: its matmul is of heads, which takes no extra operands"

// An op of one operand becomes the epilogue of a matmul of heads; one of two does not.
// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x4x16xf32>, %w: tensor<16x128xf32>, %r: tensor<?x4x32xf32>) -> (tensor<?x4x32xf32>, tensor<?x4x32xf32>) {
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32> {
  // CHECK: math.exp
  %0 = attn.linear %x, %w : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32>
  %1 = attn.activation silu %0 : tensor<?x4x32xf32>
  // CHECK: %[[Y:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32>
  // CHECK-NEXT: attn.glu {{ ?}}silu %[[Y]]
  %2 = attn.linear %x, %w : tensor<?x4x16xf32>, tensor<16x128xf32> -> tensor<?x4x32xf32>
  %3 = attn.glu silu %2, %r : tensor<?x4x32xf32>
  return %1, %3 : tensor<?x4x32xf32>, tensor<?x4x32xf32>
}
