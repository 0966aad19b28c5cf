// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<1x64xbf16>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
  // CHECK: attn_gpu.quantize_tile %{{.*}} outs(%{{.*}}, %{{.*}} : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x64xbf16>
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x64xbf16>
  return
}

// CHECK-LABEL: func.func @tile
func.func @tile(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // CHECK: attn_gpu.quantized_linear_tile %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}} : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>} : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8> epilogue {
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    attn_gpu.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @fragments
func.func @fragments(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %p: !llvm.ptr<3>, %i: index, %sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // CHECK: %[[SUMS:.*]] = attn_gpu.quantized_mma %{{.*}}, %{{.*}}[%{{.*}}] zeros %{{.*}}, %{{.*}} bits 4 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  %0 = attn_gpu.quantized_mma %a, %p[%i] zeros %p, %sums bits 4 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  // CHECK: attn_gpu.add_scaled %[[SUMS]], %{{.*}}[%{{.*}}] pitch 16, %{{.*}}[%{{.*}}], %{{.*}} factor 6.250000e-02
  %1 = attn_gpu.add_scaled %0, %p[%i] pitch 16, %p[%i], %acc factor 0.0625 : !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  return
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%codes: memref<?x512xi8>, %scales: memref<?x16xf32>, %w: memref<2x2x4736xi8>, %y: memref<?x64xf32>, %a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %p: !llvm.ptr<3>, %i: index, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // CHECK: attn_gpu.quantized_linear_tile {{.*}} {quantized = !attn.quantized<q4_k group 32 axis 0>}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<q4_k group 32 axis 0>}
      : memref<?x512xi8>, memref<?x16xf32>, memref<2x2x4736xi8>
  // CHECK: attn_gpu.block_mma %{{.*}}, %{{.*}}[%{{.*}}] pitch 16, %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} of !attn.quantized<q4_k group 32 axis 0> : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  %0 = attn_gpu.block_mma %a, %p[%i] pitch 16, %p, %p[%i], %acc of !attn.quantized<q4_k group 32 axis 0> : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  return
}
