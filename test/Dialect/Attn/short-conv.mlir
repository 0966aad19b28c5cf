// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @plain
func.func @plain(%x: tensor<?x8xbf16>, %w: tensor<1x8xf32>, %begin: tensor<?xi32>) -> tensor<?x8xbf16> {
  // CHECK: attn.short_conv %{{.*}}, %{{.*}} rows(%{{.*}}) : tensor<?x8xbf16>, tensor<1x8xf32>, tensor<?xi32>
  %0 = attn.short_conv %x, %w dilation 1 rows(%begin) : tensor<?x8xbf16>, tensor<1x8xf32>, tensor<?xi32>
  return %0 : tensor<?x8xbf16>
}

// CHECK-LABEL: @states
func.func @states(%x: tensor<?x8xf32>, %w: tensor<4x8xbf16>, %bias: tensor<8xf32>, %begin: tensor<?xi32>, %s: tensor<?x3x8xf32>, %deep: tensor<?x2x9x8xf32>, %layer: index, %slots: tensor<?xi32>)
    -> (tensor<?x8xf32>, tensor<?x3x8xf32>, tensor<?x2x9x8xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = attn.short_conv %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<8xf32>) activation silu rows(%{{.*}}) state(%{{.*}} : tensor<?x3x8xf32>) : tensor<?x8xf32>, tensor<4x8xbf16>, tensor<?xi32>
  %0, %1 = attn.short_conv %x, %w bias(%bias : tensor<8xf32>) activation silu rows(%begin) state(%s : tensor<?x3x8xf32>) : tensor<?x8xf32>, tensor<4x8xbf16>, tensor<?xi32>
  // CHECK: attn.short_conv %{{.*}}, %{{.*}} dilation 3 rows(%{{.*}}) state(%{{.*}} : tensor<?x2x9x8xf32>) layer(%{{.*}}) slots(%{{.*}} : tensor<?xi32>, %{{.*}} : tensor<?xi32>) :
  %2, %3 = attn.short_conv %0, %w dilation 3 rows(%begin) state(%deep : tensor<?x2x9x8xf32>) layer(%layer) slots(%slots : tensor<?xi32>, %slots : tensor<?xi32>) : tensor<?x8xf32>, tensor<4x8xbf16>, tensor<?xi32>
  return %2, %1, %3 : tensor<?x8xf32>, tensor<?x3x8xf32>, tensor<?x2x9x8xf32>
}
