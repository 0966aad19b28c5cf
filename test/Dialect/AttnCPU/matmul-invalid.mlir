// RUN: rapt-opt %s --verify-diagnostics --split-input-file

func.func @rounded_to_fewer(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], with static k and n, where n is at least k, found 'tensor<?x64xf32>' and 'tensor<?x32xbf16>'}}
  %0 = attn_cpu.cast_rows %x : tensor<?x64xf32> -> tensor<?x32xbf16>
  return
}

// -----

func.func @odd_depth_in_bf16(%x: tensor<4x63xbf16>, %w: tensor<32x64xbf16>, %d: tensor<4x32xf32>) {
  // expected-error@+1 {{needs rows [m, k], with an even k in bf16, a panel [k/2, 64] and dest [m, 32], or panels [n/32, k/2, 64] and dest [m, n], found 'tensor<4x63xbf16>', 'tensor<32x64xbf16>' and 'tensor<4x32xf32>'}}
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<4x63xbf16>, tensor<32x64xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @vnni_without_result(%x: tensor<4x64xf32>, %w: tensor<32x64xbf16>, %d: tensor<4x32xf32>) {
  // expected-error@+1 {{gives a tensor of the type of dest, and nothing on memory}}
  attn_cpu.vnni_matmul %x, %w, %d : tensor<4x64xf32>, tensor<32x64xbf16>, tensor<4x32xf32>
  return
}

// -----

func.func @panels(%x: tensor<4x64xbf16>, %w: tensor<3x32x64xbf16>, %d: tensor<4x64xf32>) {
  // expected-error@+1 {{or panels [n/32, k/2, 64] and dest [m, n], found 'tensor<4x64xbf16>', 'tensor<3x32x64xbf16>' and 'tensor<4x64xf32>'}}
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<4x64xbf16>, tensor<3x32x64xbf16>, tensor<4x64xf32> -> tensor<4x64xf32>
  return
}

// -----

func.func @f(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{unpacks a panel of 4 bits, not of '!attn.quantized<u8 group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> unpacked
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @f(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{do not fit depth 64 of '!attn.quantized<u8 group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> words
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @panels_without_the_last_row(%x: tensor<1x65xf32>, %w: tensor<3x32x64xbf16>, %d: tensor<1x96xf32>) {
  // expected-error@+1 {{or panels [n/32, k/2, 64] and dest [m, n], found 'tensor<1x65xf32>', 'tensor<3x32x64xbf16>' and 'tensor<1x96xf32>'}}
  %0 = attn_cpu.vnni_matmul %x, %w, %d : tensor<1x65xf32>, tensor<3x32x64xbf16>, tensor<1x96xf32> -> tensor<1x96xf32>
  return
}

// -----

func.func @unranked(%rows: tensor<4x64xf32>, %panel: tensor<*xbf16>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.vnni_matmul' op works on ranked tiles}}
  %y = attn_cpu.vnni_matmul %rows, %panel, %dest : tensor<4x64xf32>, tensor<*xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @f(%rows: tensor<4x128xi8>, %panel: tensor<2x1024xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{do not fit depth 64 of '!attn.quantized<u8 group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<2x1024xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

// Panels side by side are for a single row.
func.func @f(%rows: tensor<4x128xi8>, %panels: tensor<3x2x1088xi8>, %dest: tensor<4x96xf32>) {
  // expected-error@+1 {{do not fit depth 64 of '!attn.quantized<u8 group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panels, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<3x2x1088xi8>, tensor<4x96xf32> -> tensor<4x96xf32>
  return
}

// -----

func.func @f(%rows: tensor<1x128xi8>, %panels: tensor<3x2x1088xi8>, %dest: tensor<1x64xf32>) {
  // expected-error@+1 {{do not fit depth 64 of '!attn.quantized<u8 group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panels, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<1x128xi8>, tensor<3x2x1088xi8>, tensor<1x64xf32> -> tensor<1x64xf32>
  return
}

// -----

func.func @f(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{needs a quantized weight with at least one row, found '!attn.quantized<s8 group 32 axis 0>' of depth 64}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<s8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @f(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{gives a tensor of the type of dest, and nothing on memory}}
  attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32>
  return
}

// -----

func.func @unranked(%rows: tensor<*xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.quantized_matmul' op works on ranked tiles}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
    : tensor<*xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @product(%q: tensor<8x16xf32>, %p: tensor<17x32xf32>, %d: tensor<8x32xf32>) {
  // expected-error@+1 {{needs rows [m, k], a panel [k, 32] or, VNNI-packed in bf16, [k/2, 64], and dest [m, 32], or panels [n/32, ...] and dest [m, n], found 'tensor<8x16xf32>', 'tensor<17x32xf32>' and 'tensor<8x32xf32>'}}
  %0 = attn_cpu.panel_matmul %q, %p, %d : tensor<8x16xf32>, tensor<17x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @panels_of_columns(%q: tensor<1x16xf32>, %p: tensor<3x16x32xf32>, %d: tensor<1x64xf32>) {
  // expected-error@+1 {{or panels [n/32, ...] and dest [m, n], found 'tensor<1x16xf32>', 'tensor<3x16x32xf32>' and 'tensor<1x64xf32>'}}
  %0 = attn_cpu.panel_matmul %q, %p, %d : tensor<1x16xf32>, tensor<3x16x32xf32>, tensor<1x64xf32> -> tensor<1x64xf32>
  return
}

// -----

// A VNNI-packed panel has twice as many columns and half as many lines.
func.func @vnni(%q: tensor<8x16xbf16>, %p: tensor<16x32xbf16>, %d: tensor<8x32xf32>) {
  // expected-error@+1 {{needs rows [m, k], a panel [k, 32] or, VNNI-packed in bf16, [k/2, 64]}}
  %0 = attn_cpu.panel_matmul %q, %p, %d : tensor<8x16xbf16>, tensor<16x32xbf16>, tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @bounds(%q: tensor<8x16xf32>, %p: tensor<16x32xf32>, %d: tensor<8x32xf32>, %i: index) {
  // expected-error@+1 {{needs two row bounds for each matrix that it prefetches}}
  %0 = attn_cpu.panel_matmul %q, %p, %d prefetch(%q : tensor<8x16xf32>) rows(%i) : tensor<8x16xf32>, tensor<16x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @result(%q: memref<8x16xf32>, %p: memref<16x32xf32>, %d: memref<8x32xf32>) {
  // expected-error@+1 {{gives a tensor of the type of dest, and nothing on memory}}
  %0 = attn_cpu.panel_matmul %q, %p, %d : memref<8x16xf32>, memref<16x32xf32>, memref<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @unranked(%q: tensor<8x16xf32>, %p: tensor<*xf32>, %d: tensor<8x32xf32>) {
  // expected-error@+1 {{'attn_cpu.panel_matmul' op works on ranked tiles}}
  %0 = attn_cpu.panel_matmul %q, %p, %d : tensor<8x16xf32>, tensor<*xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

// expected-error@+1 {{expected panels of 32 columns with interleave factor 1 or 2, found 16 columns and interleave factor 4}}
func.func private @panels() attributes {attn_cpu.layout = #attn_cpu.panels<columns = 16, interleave = 4>}

// -----

// Half of a block.
func.func @half(%rows: tensor<4x192xi8>, %panel: tensor<1x4736xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // expected-error@+1 {{multiplies one panel of whole blocks, by rows of bytes, found 'tensor<1x4736xi8>' of depth 128 of '!attn.quantized<q4_k group 32 axis 0>'}}
  %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 128 of !attn.quantized<q4_k group 32 axis 0>
    : tensor<4x192xi8>, tensor<1x4736xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
