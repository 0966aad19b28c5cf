// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// A state is read and written in a layer's slots.
// CHECK-LABEL: @tensors
func.func @tensors(%q: tensor<?x1x128xbf16>, %k: tensor<?x1x128xbf16>, %v: tensor<?x1x32xbf16>, %g: tensor<?x1xf32>, %b: tensor<?x1xf32>, %o: tensor<?x1x32xbf16>, %s: tensor<?x3x32x128x128xf32>, %i: index)
    -> (tensor<?x1x32xbf16>, tensor<?x3x32x128x128xf32>) {
  // CHECK: attn_gpu.linear_attention_tile %{{.*}}, %{{.*}}, %{{.*}} decay(%{{.*}} : tensor<?x1xf32>) beta(%{{.*}} : tensor<?x1xf32>) from[%[[I:.*]], %[[I]], %[[I]], %[[I]], %[[I]]] to[%[[I]], %[[I]], %[[I]], %[[I]], %[[I]]] outs(%{{.*}} : tensor<?x1x32xbf16>) states(%{{.*}} : tensor<?x3x32x128x128xf32>) tiles <columns = 32, warps = 4, chunk = 64, least = 24, matmul = tf32> {scale = 5.000000e-01 : f64} : tensor<?x1x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x32xbf16> -> tensor<?x1x32xbf16>, tensor<?x3x32x128x128xf32>
  %0:2 = attn_gpu.linear_attention_tile %q, %k, %v decay(%g : tensor<?x1xf32>) beta(%b : tensor<?x1xf32>) from[%i, %i, %i, %i, %i] to[%i, %i, %i, %i, %i] outs(%o : tensor<?x1x32xbf16>) states(%s : tensor<?x3x32x128x128xf32>)
      tiles <columns = 32, warps = 4, chunk = 64, least = 24, matmul = tf32> {scale = 0.5 : f64} : tensor<?x1x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x32xbf16> -> tensor<?x1x32xbf16>, tensor<?x3x32x128x128xf32>
  return %0#0, %0#1 : tensor<?x1x32xbf16>, tensor<?x3x32x128x128xf32>
}

// One that is only read, and decays of channels: in the recurrent form, which has no more to say.
// CHECK-LABEL: @buffers
func.func @buffers(%q: memref<?x3x7xf32>, %k: memref<?x1x7xf32>, %v: memref<?x1x?xf32>, %g: memref<?x1x7xf32>, %o: memref<?x3x?xf32>, %s: memref<?x2x7x40xf32>, %i: index) {
  // CHECK: decay(%{{.*}} : memref<?x1x7xf32>) first(%{{.*}} : memref<?x2x7x40xf32>) from[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] outs(%{{.*}} : memref<?x3x?xf32>) tiles <columns = 16, warps = 2> {scale = 1.000000e+00 : f64} : memref<?x3x7xf32>, memref<?x1x7xf32>, memref<?x1x?xf32>{{$}}
  attn_gpu.linear_attention_tile %q, %k, %v decay(%g : memref<?x1x7xf32>) first(%s : memref<?x2x7x40xf32>) from[%i, %i, %i, %i] outs(%o : memref<?x3x?xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64}
      : memref<?x3x7xf32>, memref<?x1x7xf32>, memref<?x1x?xf32>
  return
}
