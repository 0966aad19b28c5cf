// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @products
func.func @products(%q: tensor<8x16xf32>, %p: tensor<16x32xf32>, %d: tensor<8x32xf32>, %m: memref<8x?xf32>, %n: memref<?x32xf32>,
                    %e: memref<8x32xf32>, %i: index, %r: memref<8x?xbf16>, %w: memref<?x64xbf16>,
                    %h: memref<?x32xf16>, %one: tensor<1x16xf32>, %three: tensor<3x16x32xf32>, %wide: tensor<1x96xf32>) -> tensor<8x32xf32> {
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<1x16xf32>, tensor<3x16x32xf32>, tensor<1x96xf32> -> tensor<1x96xf32>
  %row = attn_cpu.panel_matmul %one, %three, %wide : tensor<1x16xf32>, tensor<3x16x32xf32>, tensor<1x96xf32> -> tensor<1x96xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}} : memref<8x?xf32>, memref<?x32xf16>, memref<8x32xf32>
  attn_cpu.panel_matmul %m, %h, %e : memref<8x?xf32>, memref<?x32xf16>, memref<8x32xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}} : memref<8x?xbf16>, memref<?x64xbf16>, memref<8x32xf32>
  attn_cpu.panel_matmul %r, %w, %e : memref<8x?xbf16>, memref<?x64xbf16>, memref<8x32xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}}, %{{.*}}, %{{.*}} prefetch(%{{.*}}, %{{.*}} : memref<8x32xf32>, memref<?x32xf32>) rows(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) write : memref<8x?xf32>, memref<?x32xf32>, memref<8x32xf32>{{$}}
  attn_cpu.panel_matmul %m, %n, %e prefetch(%e, %n : memref<8x32xf32>, memref<?x32xf32>) rows(%i, %i, %i, %i) write : memref<8x?xf32>, memref<?x32xf32>, memref<8x32xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x16xf32>, tensor<16x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
  %0 = attn_cpu.panel_matmul %q, %p, %d : tensor<8x16xf32>, tensor<16x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// CHECK-LABEL: @vnni_tile
func.func @vnni_tile(%x: tensor<4x63xf32>, %w: tensor<32x64xbf16>, %d: tensor<4x32xf32>, %m: memref<4x64xbf16>, %p: memref<32x64xbf16>, %e: memref<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: attn_cpu.vnni_matmul %{{.*}} : memref<4x64xbf16>, memref<32x64xbf16>, memref<4x32xf32>{{$}}
  attn_cpu.vnni_matmul %m, %p, %e : memref<4x64xbf16>, memref<32x64xbf16>, memref<4x32xf32>
  // CHECK: attn_cpu.vnni_matmul %{{.*}} : tensor<4x63xf32>, tensor<32x64xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<4x63xf32>, tensor<32x64xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: @panels
func.func @panels(%x: tensor<4x64xbf16>, %w: tensor<2x32x64xbf16>, %d: tensor<4x64xf32>, %m: memref<4x?xbf16>, %p: memref<?x?x64xbf16>, %e: memref<4x?xf32>) -> tensor<4x64xf32> {
  // CHECK: attn_cpu.vnni_matmul %{{.*}} : memref<4x?xbf16>, memref<?x?x64xbf16>, memref<4x?xf32>{{$}}
  attn_cpu.vnni_matmul %m, %p, %e : memref<4x?xbf16>, memref<?x?x64xbf16>, memref<4x?xf32>
  // CHECK: attn_cpu.vnni_matmul %{{.*}} : tensor<4x64xbf16>, tensor<2x32x64xbf16>, tensor<4x64xf32> -> tensor<4x64xf32>
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<4x64xbf16>, tensor<2x32x64xbf16>, tensor<4x64xf32> -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// The last pair of an odd k has one row.
// CHECK-LABEL: @panels_of_odd_depth
func.func @panels_of_odd_depth(%x: tensor<1x63xf32>, %w: tensor<3x32x64xbf16>, %d: tensor<1x96xf32>) -> tensor<1x96xf32> {
  // CHECK: attn_cpu.vnni_matmul %{{.*}} : tensor<1x63xf32>, tensor<3x32x64xbf16>, tensor<1x96xf32> -> tensor<1x96xf32>
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<1x63xf32>, tensor<3x32x64xbf16>, tensor<1x96xf32> -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}

// CHECK-LABEL: @tile
func.func @tile(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: attn_cpu.quantized_matmul %{{.*}}, %{{.*}}, %{{.*}} depth 64 of !attn.quantized<u8 group 32 axis 0> : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// CHECK-LABEL: @row_of_panels
func.func @row_of_panels(%row: tensor<1x128xi8>, %panels: tensor<3x2x1088xi8>, %dest: tensor<1x96xf32>) -> tensor<1x96xf32> {
  // CHECK: attn_cpu.quantized_matmul {{.*}} : tensor<1x128xi8>, tensor<3x2x1088xi8>, tensor<1x96xf32> -> tensor<1x96xf32>
  %y = attn_cpu.quantized_matmul %row, %panels, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<1x128xi8>, tensor<3x2x1088xi8>, tensor<1x96xf32> -> tensor<1x96xf32>
  return %y : tensor<1x96xf32>
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<?x63xf32>) -> tensor<?x64xbf16> {
  // CHECK: attn_cpu.cast_rows %{{.*}} : tensor<?x63xf32> -> tensor<?x64xbf16>
  %0 = attn_cpu.cast_rows %x : tensor<?x63xf32> -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
