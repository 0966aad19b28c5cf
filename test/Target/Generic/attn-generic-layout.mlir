// RUN: rapt-opt %s --attn-generic-layout --cse --split-input-file | FileCheck %s

// Rows lie as they are where the weight file does not pad them; a reader of others takes a slice of the columns.
// Layers of a stack lie one behind the other, a stride apart. A vector is one row.
// CHECK: @whole : tensor<64x96xf32> {{.*}}layout = #attn.rows<shape = [64, 96]>, offset = 0 : i64, stride = 24576 : i64
attn.parameter @whole : tensor<64x96xf32> from [#attn.source<"whole">]
// CHECK: @padded : tensor<64x96xbf16> {{.*}}layout = #attn.rows<shape = [64, 80]>, offset = 24576 : i64, stride = 12288 : i64
attn.parameter @padded : tensor<64x80xbf16> from [#attn.source<"padded">]
// CHECK: @stack layers 3 : tensor<3x64x96xf32> {{.*}}shape = [64, 80]>, offset = 36864 : i64, stride = 24576 : i64
attn.parameter @stack layers 3 : tensor<3x64x80xf32> from [#attn.source<"stack.{layer}">]
// CHECK: @bias : tensor<96xf32> {{.*}}shape = [80]>, offset = 110592 : i64, stride = 384 : i64
attn.parameter @bias : tensor<80xf32> from [#attn.source<"bias">]
// CHECK-LABEL: @plain
func.func @plain(%x: tensor<?x64xf32>, %i: index) -> (tensor<?x96xf32>, tensor<?x80xf32>, tensor<?x80xf32>) {
  // CHECK: %[[WHOLE:.*]] = attn.parameter_slice @whole : tensor<64x96xf32>
  %a = attn.parameter_slice @whole : tensor<64x96xf32>
  // CHECK: %[[ROWS:.*]] = attn.parameter_slice @padded : tensor<64x96xbf16>
  // CHECK: %[[PADDED:.*]] = tensor.extract_slice %[[ROWS]][0, 0] [64, 80] [1, 1]
  %b = attn.parameter_slice @padded : tensor<64x80xbf16>
  // CHECK: %[[LAYER:.*]] = attn.parameter_slice @stack[%{{.*}}] : tensor<64x96xf32>
  // CHECK: %[[STACK:.*]] = tensor.extract_slice %[[LAYER]][0, 0] [64, 80] [1, 1]
  %c = attn.parameter_slice @stack[%i] : tensor<64x80xf32>
  // CHECK: attn.linear %{{.*}}, %[[WHOLE]] :
  %0 = attn.linear %x, %a : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  // CHECK: attn.linear %{{.*}}, %[[PADDED]] : tensor<?x64xf32>, tensor<64x80xbf16>
  %1 = attn.linear %x, %b : tensor<?x64xf32>, tensor<64x80xbf16> -> tensor<?x80xf32>
  // CHECK: attn.linear %{{.*}}, %[[STACK]] :
  %2 = attn.linear %x, %c : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
  return %0, %1, %2 : tensor<?x96xf32>, tensor<?x80xf32>, tensor<?x80xf32>
}

// -----

// CHECK-DAG: #[[$GROUP:.*]] = affine_map<()[s0] -> (s0 floordiv 32)>
// CHECK-DAG: #[[$CODE:.*]] = affine_map<()[s0] -> (s0 mod 32)>

// u8: a column of the matrix is a row in the file, two groups of 32 codes and the bf16 scale behind them. The matrix is dequantized before it is multiplied, around the
// zero 128, and the rows become the numbers that their codes stand for, of two groups each. The matmul's op number stays with them.
// CHECK: @w : tensor<40x64x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"w", transpose<1, 0>>] {layout = #attn.rows<shape = [40, 64]>, offset = 0 : i64, stride = 2752 : i64}
attn.parameter @w : tensor<64x40x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">]
// CHECK-LABEL: @u8
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @u8(%x: tensor<?x64xf32>) -> tensor<?x40xf32> {
  // CHECK: tensor.empty(%{{.*}}) : tensor<?x2xf32>
  // CHECK: math.absf
  // CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[X]] :
  // CHECK: math.roundeven
  %r = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  // CHECK: %[[BYTES:.*]] = attn.parameter_slice @w : tensor<40x2x34xi8>
  // CHECK: %[[W:.*]] = linalg.generic {{.*}}attn.op = 7
  // CHECK: %[[K:.*]] = linalg.index 0
  // CHECK: %[[N:.*]] = linalg.index 1
  // CHECK: %[[G:.*]] = affine.apply #[[$GROUP]]()[%[[K]]]
  // CHECK: %[[I:.*]] = affine.apply #[[$CODE]]()[%[[K]]]
  // CHECK: tensor.extract %[[BYTES]][%[[N]], %[[G]], %[[I]]]
  // CHECK-NOT: arith.shrui
  // CHECK: tensor.extract %[[BYTES]][%[[N]], %[[G]], %c32]
  // CHECK: tensor.extract %[[BYTES]][%[[N]], %[[G]], %c33]
  // CHECK: arith.constant 128 : i32
  // CHECK: } -> tensor<64x40xf32>
  %w = attn.parameter_slice @w : tensor<64x40x!attn.quantized<u8 group 32 axis 0>>
  // CHECK: attn.linear %[[ROWS]], %[[W]] {{.*}}: tensor<?x64xf32>, tensor<64x40xf32>
  %y = attn.linear %r, %w {attn.op = 7 : i64} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x40x!attn.quantized<u8 group 32 axis 0>> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

// CHECK: affine_map<()[s0] -> ((s0 floordiv 3) * 80)>

// u4 with zero points, of two layers and a period: 80 rows are stored as 96 and have 3 groups of
// their own. A byte has two codes, the zero is read behind the scale.
// CHECK: @z layers 2 : tensor<2x32x192x!attn.quantized<u4 group 32 axis 1 period 80 zero_points = true>> {{.*}}layout = #attn.rows<shape = [32, 160], column_group = 80>, offset = 0 : i64, stride = 3648 : i64
attn.parameter @z layers 2 : tensor<2x160x32x!attn.quantized<u4 group 32 axis 0 period 80 zero_points = true>> from [#attn.source<"z.{layer}">]
// CHECK-LABEL: @u4
func.func @u4(%x: tensor<?x160xf32>, %i: index) -> tensor<?x32xf32> {
  %q = attn.quantize_rows %x : tensor<?x160xf32> -> tensor<?x160x!attn.quantized<s8 group 32 axis 1 period 80>>
  // CHECK: %[[BYTES:.*]] = attn.parameter_slice @z[%{{.*}}] : tensor<32x6x19xi8>
  // CHECK: arith.shrui
  // CHECK: %[[CODE:.*]] = arith.andi %{{.*}}, %c15_i32
  // CHECK: tensor.extract %[[BYTES]][%[[N:.*]], %[[G:.*]], %c16{{(_[0-9]+)?}}]
  // CHECK: tensor.extract %[[BYTES]][%[[N]], %[[G]], %c17{{(_[0-9]+)?}}]
  // CHECK: %[[BYTE:.*]] = tensor.extract %[[BYTES]][%[[N]], %[[G]], %c18{{(_[0-9]+)?}}]
  // CHECK: %[[ZERO:.*]] = arith.extui %[[BYTE]]
  // CHECK: arith.subi %[[CODE]], %[[ZERO]]
  %z = attn.parameter_slice @z[%i] : tensor<160x32x!attn.quantized<u4 group 32 axis 0 period 80 zero_points = true>>
  %v = attn.linear %q, %z : tensor<?x160x!attn.quantized<s8 group 32 axis 1 period 80>>, tensor<160x32x!attn.quantized<u4 group 32 axis 0 period 80 zero_points = true>> -> tensor<?x32xf32>
  return %v : tensor<?x32xf32>
}

// -----

// A tied embedding: the table's rows are quantized as they lie. A look-up dequantizes the row that it reads; the matmul has the matrix, which
// is not transposed any more.
// CHECK: @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>> from [#attn.source<"t">] {layout = #attn.rows<shape = [99, 64]>, offset = 0 : i64, stride = 6592 : i64
attn.parameter @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>> from [#attn.source<"t">]
// CHECK-LABEL: @tied
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>
func.func @tied(%ids: tensor<?xi32>, %x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x99xf32>) {
  // CHECK: %[[BYTES:.*]] = attn.parameter_slice @t : tensor<99x1x66xi8>
  // CHECK: linalg.generic {{.*}} ins(%[[IDS]] :
  // CHECK: tensor.extract %[[BYTES]]
  // CHECK: arith.constant 8.0
  // CHECK: } -> tensor<?x64xf32>
  %t = attn.parameter_slice @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
  %e = attn.embedding %ids, %t scale 8.0 : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xf32>
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 0 axis 1>>
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64x99xf32>)
  // CHECK: attn.linear %{{.*}}, %[[W]] : tensor<?x64xf32>, tensor<64x99xf32>
  %y = attn.linear %q, %t transposed : tensor<?x64x!attn.quantized<s8 group 0 axis 1>>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x99xf32>
  return %e, %y : tensor<?x64xf32>, tensor<?x99xf32>
}

// -----

// A cache is a tensor of its blocks: [blocks, layers, heads, keys and values, positions, channels]. In i8 a position's four bytes of scale
// are behind its 20 codes.
// CHECK-LABEL: func.func @cache
// CHECK-SAME: (%{{.*}}: tensor<?x2x4x2x64x20xf32> {attn.cache = !attn.kv_cache<2 x 4 x 20, block = 64, f32>}, %{{.*}}: tensor<?x2x4x2x64x20xbf16> {attn.cache = !attn.kv_cache<2 x 4 x 20, block = 64, bf16>}, %{{.*}}: tensor<?x2x4x2x32x24xi8> {attn.cache = !attn.kv_cache<2 x 4 x 20, block = 32, i8>})
// CHECK-SAME: -> (tensor<?x2x4x2x64x20xf32>, tensor<?x2x4x2x64x20xbf16>, tensor<?x2x4x2x32x24xi8>)
func.func @cache(%c: !attn.kv_cache<2 x 4 x 20, block = 64, f32>, %b: !attn.kv_cache<2 x 4 x 20, block = 64, bf16>, %i: !attn.kv_cache<2 x 4 x 20, block = 32, i8>)
  -> (!attn.kv_cache<2 x 4 x 20, block = 64, f32>, !attn.kv_cache<2 x 4 x 20, block = 64, bf16>, !attn.kv_cache<2 x 4 x 20, block = 32, i8>) {
  return %c, %b, %i : !attn.kv_cache<2 x 4 x 20, block = 64, f32>, !attn.kv_cache<2 x 4 x 20, block = 64, bf16>, !attn.kv_cache<2 x 4 x 20, block = 32, i8>
}

// -----

// A look-up in a quantized table rounds its rows once, behind the scale.
attn.parameter @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>> from [#attn.source<"t">]
// CHECK-LABEL: @rounded
func.func @rounded(%ids: tensor<?xi32>) -> tensor<?x64xbf16> {
  // CHECK: %[[SCALED:.*]] = arith.mulf
  // CHECK: %[[ROW:.*]] = arith.truncf %{{.*}} : f32 to bf16
  // CHECK: linalg.yield %[[ROW]] : bf16
  %t = attn.parameter_slice @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
  %e = attn.embedding %ids, %t scale 8.0 : tensor<?xi32>, tensor<99x64x!attn.quantized<u8 group 0 axis 1>> -> tensor<?x64xbf16>
  return %e : tensor<?x64xbf16>
}

// -----

// Layers, or keys and values, that differ: a tensor of bytes, whose parts are at multiples of 64. In i8 the scale is behind the codes.
// CHECK-LABEL: func.func @segments
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<?x1344xi8> {attn.cache = !attn.kv_cache<[1 x 2 x (5 x bf16, 3 x i8), 2 x 1 x 3 x f32], block = 16>}
// CHECK: attn.cache_parts %[[C]] at [0, 320, 576] : tensor<?x1344xi8> -> tensor<?x1x2x1x16x5xbf16>, tensor<?x1x2x1x16x7xi8>, tensor<?x2x1x2x16x3xf32>
func.func @segments(%c: !attn.kv_cache<[1 x 2 x (5 x bf16, 3 x i8), 2 x 1 x 3 x f32], block = 16>)
  -> !attn.kv_cache<[1 x 2 x (5 x bf16, 3 x i8), 2 x 1 x 3 x f32], block = 16> {
  return %c : !attn.kv_cache<[1 x 2 x (5 x bf16, 3 x i8), 2 x 1 x 3 x f32], block = 16>
}

// -----

// A function that gives back quantized rows gives back floats.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: -> tensor<?x64xf32>
func.func @rows(%x: tensor<?x64xf32>) -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>> {
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  return %q : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
}
