// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @kinds
func.func @kinds(%q: tensor<?x2x8xf32>, %v: tensor<?x2x16xf32>, %g: tensor<?x2xf32>, %channels: tensor<?x2x8xf32>, %beta: tensor<?x2xf32>, %begin: tensor<?xi32>)
    -> (tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  // CHECK: attn.linear_attention linear %{{.*}}, %{{.*}}, %{{.*}} rows(%{{.*}}) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  %0 = attn.linear_attention linear %q, %q, %v rows(%begin) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  // CHECK: attn.linear_attention gated %{{.*}}, %{{.*}}, %{{.*}} decay(%{{.*}} : tensor<?x2xf32>) rows(%{{.*}}) scale 2.500000e-01 : tensor
  %1 = attn.linear_attention gated %q, %q, %v decay(%g : tensor<?x2xf32>) rows(%begin) scale 0.25 : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  // CHECK: attn.linear_attention delta %{{.*}}, %{{.*}}, %{{.*}} beta(%{{.*}} : tensor<?x2xf32>) rows(%{{.*}}) : tensor
  %2 = attn.linear_attention delta %q, %q, %v beta(%beta : tensor<?x2xf32>) rows(%begin) scale 1.0 : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  // CHECK: attn.linear_attention gated_delta %{{.*}}, %{{.*}}, %{{.*}} decay(%{{.*}} : tensor<?x2x8xf32>) beta(%{{.*}} : tensor<?x2xf32>) rows(%{{.*}}) : tensor
  %3 = attn.linear_attention gated_delta %q, %q, %v decay(%channels : tensor<?x2x8xf32>) beta(%beta : tensor<?x2xf32>) rows(%begin) pairing neighbors : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>, tensor<?xi32>
  return %0, %1, %2, %3 : tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}

// More value heads than key heads: as many states and outputs. The output has the element type of the query.
// CHECK-LABEL: @states
func.func @states(%q: tensor<?x1x8xbf16>, %k: tensor<?x2x8xbf16>, %v: tensor<?x6x16xf32>, %begin: tensor<4xi32>, %s: tensor<3x6x8x16xf32>, %deep: tensor<?x2x6x8x16xf32>, %layer: index, %slots: tensor<3xi32>)
    -> (tensor<?x6x16xbf16>, tensor<3x6x8x16xf32>, tensor<?x2x6x8x16xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = attn.linear_attention linear %{{.*}}, %{{.*}}, %{{.*}} rows(%{{.*}}) state(%{{.*}} : tensor<3x6x8x16xf32>) pairing remainder : tensor<?x1x8xbf16>, tensor<?x2x8xbf16>, tensor<?x6x16xf32>, tensor<4xi32>
  %0, %1 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%s : tensor<3x6x8x16xf32>) pairing remainder : tensor<?x1x8xbf16>, tensor<?x2x8xbf16>, tensor<?x6x16xf32>, tensor<4xi32>
  // CHECK: attn.linear_attention linear %{{.*}} state(%{{.*}} : tensor<?x2x6x8x16xf32>) layer(%{{.*}}) slots(%{{.*}} : tensor<3xi32>, %{{.*}} : tensor<3xi32>) :
  %2, %3 = attn.linear_attention linear %q, %k, %v rows(%begin) state(%deep : tensor<?x2x6x8x16xf32>) layer(%layer) slots(%slots : tensor<3xi32>, %slots : tensor<3xi32>) : tensor<?x1x8xbf16>, tensor<?x2x8xbf16>, tensor<?x6x16xf32>, tensor<4xi32>
  return %0, %1, %3 : tensor<?x6x16xbf16>, tensor<3x6x8x16xf32>, tensor<?x2x6x8x16xf32>
}

// More query heads than states: as many outputs as queries.
// CHECK-LABEL: @queries
func.func @queries(%q: tensor<?x8x4xf32>, %k: tensor<?x2x4xf32>, %begin: tensor<?xi32>) -> tensor<?x8x4xf32> {
  // CHECK: attn.linear_attention linear {{.*}} : tensor<?x8x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi32>
  %0 = attn.linear_attention linear %q, %k, %k rows(%begin) : tensor<?x8x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi32>
  return %0 : tensor<?x8x4xf32>
}
