// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @images
func.func @images(%pixels: tensor<?x3x?x?xf32>, %class: tensor<1x192xbf16>, %table: tensor<17x192xbf16>, %h: index, %w: index) -> tensor<?x?x192xf32> {
  // CHECK: attn.patches %{{.*}} size 8 : tensor<?x3x?x?xf32> -> tensor<?x192xf32>
  %x = attn.patches %pixels size 8 : tensor<?x3x?x?xf32> -> tensor<?x192xf32>
  // CHECK: attn.resize_positions %{{.*}}, %{{.*}}, %{{.*}} grid [4, 4] : tensor<17x192xbf16> -> tensor<?x192xf32>
  %p = attn.resize_positions %table, %h, %w grid [4, 4] : tensor<17x192xbf16> -> tensor<?x192xf32>
  // CHECK: attn.image_tokens %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x192xf32>, tensor<1x192xbf16>, tensor<?x192xf32> -> tensor<?x192xf32>
  %t = attn.image_tokens %x, %class, %p : tensor<?x192xf32>, tensor<1x192xbf16>, tensor<?x192xf32> -> tensor<?x192xf32>
  // CHECK: attn.equal_rows %{{.*}}, %{{.*}} : tensor<?xi32>
  %r = attn.equal_rows %h, %w : tensor<?xi32>
  // CHECK: attn.unpack_rows %{{.*}}, %{{.*}} : tensor<?x192xf32> -> tensor<?x?x192xf32>
  %y = attn.unpack_rows %t, %w : tensor<?x192xf32> -> tensor<?x?x192xf32>
  return %y : tensor<?x?x192xf32>
}

// Padded columns, as behind attn-materialize-layouts; no tokens before the patches; a grid that is not square.
// CHECK-LABEL: @padded
func.func @padded(%pixels: tensor<2x1x?x?xf32>, %none: tensor<0x64xf32>, %table: tensor<6x64xf32>, %h: index, %w: index) -> tensor<?x?x49xf32> {
  %x = attn.patches %pixels size 7 : tensor<2x1x?x?xf32> -> tensor<?x64xf32>
  %p = attn.resize_positions %table, %h, %w grid [2, 3] : tensor<6x64xf32> -> tensor<?x64xf32>
  %t = attn.image_tokens %x, %none, %p : tensor<?x64xf32>, tensor<0x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.unpack_rows %{{.*}}, %{{.*}} : tensor<?x64xf32> -> tensor<?x?x49xf32>
  %y = attn.unpack_rows %t, %w : tensor<?x64xf32> -> tensor<?x?x49xf32>
  return %y : tensor<?x?x49xf32>
}

// CHECK-LABEL: @weights
func.func @weights(%w: tensor<?x2x3x17xf32>, %n: index) -> tensor<?x?x2x3x17xf32> {
  // CHECK: attn.unpack_rows %{{.*}}, %{{.*}} : tensor<?x2x3x17xf32> -> tensor<?x?x2x3x17xf32>
  %y = attn.unpack_rows %w, %n : tensor<?x2x3x17xf32> -> tensor<?x?x2x3x17xf32>
  return %y : tensor<?x?x2x3x17xf32>
}
