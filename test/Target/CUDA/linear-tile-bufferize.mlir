// RUN: rapt-opt %s --one-shot-bufferize=bufferize-function-boundaries --split-input-file | FileCheck %s

// The tile is computed in its destination, which it does not read; the epilogue reads buffers.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[X:.*]]: memref<16x32xbf16, {{.*}}>, %[[W:.*]]: memref<32x64xbf16, {{.*}}>, %[[B:.*]]: memref<64xf32, {{.*}}>
// CHECK: %[[Y:.*]] = memref.alloc() {{.*}} : memref<16x64xf32>
// CHECK-NOT: memref.copy
// CHECK: attn_gpu.linear_tile %[[X]], %[[W]] outs(%[[Y]] : memref<16x64xf32>) {{.*}} epilogue {
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: index, %[[J:.*]]: index):
// CHECK: memref.load %[[B]][%[[J]]]
// CHECK: return %[[Y]]
func.func @in_place(%x: tensor<16x32xbf16>, %w: tensor<32x64xbf16>, %b: tensor<64xf32>) -> tensor<16x64xf32> {
  %y = tensor.empty() : tensor<16x64xf32>
  %0 = attn_gpu.linear_tile %x, %w outs(%y : tensor<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %bias = tensor.extract %b[%column] : tensor<64xf32>
    %1 = arith.addf %sum, %bias : f32
    attn_gpu.yield %1 : f32
  }
  return %0 : tensor<16x64xf32>
}

// -----

// Near miss: an epilogue that reads the destination's numbers of before needs them in another buffer.
// CHECK-LABEL: func.func @read_behind
// CHECK-SAME: %[[R:[a-z0-9]*]]: memref<16x64xf32, {{[^>]*>}}>)
// CHECK: %[[Y:.*]] = memref.alloc() {{.*}} : memref<16x64xf32>
// CHECK: attn_gpu.linear_tile {{.*}} outs(%[[Y]] :
// CHECK: memref.load %[[R]]
func.func @read_behind(%x: tensor<16x32xbf16>, %w: tensor<32x64xbf16>, %r: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %0 = attn_gpu.linear_tile %x, %w outs(%r : tensor<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %residual = tensor.extract %r[%row, %column] : tensor<16x64xf32>
    %1 = arith.addf %sum, %residual : f32
    attn_gpu.yield %1 : f32
  }
  return %0 : tensor<16x64xf32>
}
