// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// Groups are those of weights.
func.func @f(%x: memref<1x64xf32>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
  // expected-error@+1 {{has groups of 16, 32, 64 or 128 elements, or 0 for all of them, found 48}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 48 : i64, period = 0 : i64} : memref<1x64xf32>
  return
}

// -----

// The number of groups is static.
func.func @f(%x: memref<1x?xf32>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
  // expected-error@+1 {{needs a static number of columns that whole periods of 0 make up}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x?xf32>
  return
}

// -----

// Periods are whole.
func.func @f(%x: memref<1x64xf32>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
  // expected-error@+1 {{needs a static number of columns that whole periods of 24 make up}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 24 : i64} : memref<1x64xf32>
  return
}

// -----

// A scale is each group's.
func.func @f(%x: memref<1x64xf32>, %codes: memref<1x64xi8>, %scales: memref<1x1xf32>) {
  // expected-error@+1 {{makes 64 quantized values and at least 2 scales, found}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x1xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x64xf32>
  return
}

// -----

// Every element is quantized.
func.func @f(%x: memref<1x64xf32>, %codes: memref<1x32xi8>, %scales: memref<1x4xf32>) {
  // expected-error@+1 {{makes 64 quantized values and at least 2 scales, found}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x32xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<1x64xf32>
  return
}

// -----

// A thread block has a row.
func.func @f(%x: memref<2x64xf32>, %codes: memref<1x64xi8>, %scales: memref<1x4xf32>) {
  // expected-error@+1 {{quantizes one row, found}}
  attn_gpu.quantize_tile %x outs(%codes, %scales : memref<1x64xi8>, memref<1x4xf32>) {group = 32 : i64, period = 0 : i64} : memref<2x64xf32>
  return
}

// -----

// Activations are the signed ones.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{needs the type of a weight of u8 or u4 in groups along axis 0, of u8 in one, or in blocks, found}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<s8 group 32 axis 1>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// There are as many groups as panels have.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x5x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{needs quantized values of whole groups and panels that fit them, found}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x5x576xi8>
  return
}

// -----

// The depth is static.
func.func @f(%codes: memref<?x?xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{needs quantized values of whole groups and panels that fit them, found}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x?xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// A row of scales is copied in 16 bytes.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x5xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has extents of quantized values, scales in fours, weight and result that do not fit}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x5xf32>, memref<2x4x576xi8>
  return
}

// -----

// A tile has its panels alone.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<3x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has extents of quantized values, scales in fours, weight and result that do not fit}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<3x4x576xi8>
  return
}

// -----

// Rows are those of instructions.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 60x64 by 4 warps; it needs rows, a multiple of 16, and columns, one of 32}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 60, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// A warp has a whole number of instructions.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{it needs warps that have 16x16 or multiples each, and a thread for each row}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 3, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// Sums are in registers.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<8x4x576xi8>, %y: memref<?x256xf32>) {
  // expected-error@+1 {{a thread would have 256 sums, more than 128}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x256xf32>) tiles <rows = 256, columns = 256, depth = 128, warps = 8, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<8x4x576xi8>
  return
}

// -----

// Shared memory is bounded.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{its 8 stages need more than 232448 bytes of shared memory}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 256, columns = 64, depth = 128, warps = 8, stages = 8> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// A tile has its result.
func.func @f(%codes: memref<?x128xi8>, %scales: memref<?x4xf32>, %w: memref<2x4x576xi8>, %y: memref<?x65xf32>) {
  // expected-error@+1 {{has a result of more than 64x64, found}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x65xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
      : memref<?x128xi8>, memref<?x4xf32>, memref<2x4x576xi8>
  return
}

// -----

// Integers are multiplied.
func.func @f(%a: !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, %codes: !llvm.ptr<3>, %i: index, %sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{needs i16 [m, 16] of the layout mma<a> and i32 [m, 16] of mma<acc>, found}}
  %0 = attn_gpu.quantized_mma %a, %codes[%i], %sums bits 8 : !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  return
}

// -----

// Sums are integers.
func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %codes: !llvm.ptr<3>, %i: index, %sums: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{needs i16 [m, 16] of the layout mma<a> and i32 [m, 16] of mma<acc>, found}}
  %0 = attn_gpu.quantized_mma %a, %codes[%i], %sums bits 8 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  return
}

// -----

// Codes have 4 or 8 bits.
func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %codes: !llvm.ptr<3>, %i: index, %sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{multiplies quantized values of 4 or 8 bits, found 5}}
  %0 = attn_gpu.quantized_mma %a, %codes[%i], %sums bits 5 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  return
}

// -----

// The zero of 8 bits is known.
func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %codes: !llvm.ptr<3>, %i: index, %sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{has zeros of quantized values of 8 bits, whose zero is 128}}
  %0 = attn_gpu.quantized_mma %a, %codes[%i] zeros %codes, %sums bits 8 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  return
}

// -----

// Scales make numbers of integers.
func.func @f(%rows: !llvm.ptr<3>, %i: index, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{needs i32 and f32 [m, 16] of the layout mma<acc>, found}}
  %0 = attn_gpu.add_scaled %acc, %rows[%i] pitch 16, %rows[%i], %acc factor 1.0 : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  return
}

// -----

// A panel's words hold 4 or 8 quantized values.
// expected-error@+1 {{expected the interleave factor 4 or 8, found 2}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [64, 64], interleave = 2>, offset = 0 : i64, stride = 8192 : i64}

// -----

// expected-error@+1 {{expected groups that make up the 64 rows, found groups of 48}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [64, 64] row_group = 48, interleave = 4>, offset = 0 : i64, stride = 8192 : i64}

// -----

// expected-error@+1 {{expected a matrix with extents from 1 to 2^40, found [64]}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [64], interleave = 4>, offset = 0 : i64, stride = 8192 : i64}

// -----

// Groups of 16 have a scale each, those of rows too.
func.func @f(%codes: memref<?x512xi8>, %scales: memref<?x16xf32>, %w: memref<2x2x6720xi8>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has extents of quantized values, scales in fours, weight and result that do not fit}}
  attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<q6_k group 16 axis 0>}
      : memref<?x512xi8>, memref<?x16xf32>, memref<2x2x6720xi8>
  return
}

// -----

// Sums are f32 here.
func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %p: !llvm.ptr<3>, %i: index, %acc: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{needs i16 [m, 16] of the layout mma<a> and f32 [m, 16] of mma<acc>, found}}
  %0 = attn_gpu.block_mma %a, %p[%i] pitch 16, %p, %p[%i], %acc of !attn.quantized<q4_k group 32 axis 0> : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
  return
}

// -----

// u4 has no units of 32 rows.
func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %p: !llvm.ptr<3>, %i: index, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  // expected-error@+1 {{needs the type of a weight in blocks along axis 0, found '!attn.quantized<u4 group 32 axis 0>'}}
  %0 = attn_gpu.block_mma %a, %p[%i] pitch 16, %p, %p[%i], %acc of !attn.quantized<u4 group 32 axis 0> : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
  return
}
