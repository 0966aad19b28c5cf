// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @pool
func.func @pool(%x: tensor<?x40xf32>, %row_begin: tensor<?xi32>, %three: tensor<3xi32>) -> (tensor<?x40xf32>, tensor<2x40xf32>) {
  // CHECK: attn.pool_rows first %{{.*}}, %{{.*}} : tensor<?x40xf32>, tensor<?xi32> -> tensor<?x40xf32>
  %0 = attn.pool_rows first %x, %row_begin : tensor<?x40xf32>, tensor<?xi32> -> tensor<?x40xf32>
  // CHECK: attn.pool_rows max %{{.*}}, %{{.*}} : tensor<?x40xf32>, tensor<3xi32> -> tensor<2x40xf32>
  %1 = attn.pool_rows max %x, %three : tensor<?x40xf32>, tensor<3xi32> -> tensor<2x40xf32>
  // CHECK: attn.pool_rows mean %{{.*}}, %{{.*}} skip 1 : tensor<?x40xf32>, tensor<?xi32> -> tensor<?x40xf32>
  %2 = attn.pool_rows mean %x, %row_begin skip 1 : tensor<?x40xf32>, tensor<?xi32> -> tensor<?x40xf32>
  return %0, %1 : tensor<?x40xf32>, tensor<2x40xf32>
}
