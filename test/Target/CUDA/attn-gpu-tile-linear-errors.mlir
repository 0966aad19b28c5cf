// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

// The tile's own rules are those of its op.
func.func @rows(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{'attn_gpu.linear_tile' op has a schedule of 17x64 in steps of 32 by 2 warps}}
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 17, columns = 64, depth = 32, warps = 2, stages = 2>>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// A schedule on another op is for that op.
func.func @quantized(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<96x64x!attn.quantized<u4 group 32 axis 1>>) -> tensor<?x96xf32> {
  // expected-error@+1 {{has a schedule, but tensor cores take a quantized weight in panels of the weight file}}
  %y = attn.linear %x, %w transposed {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>>}
      : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<96x64x!attn.quantized<u4 group 32 axis 1>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// f32 are on tensor cores as tf32 alone.
func.func @terms(%x: tensor<?x96xf32>, %w: tensor<96x80xf32>) -> tensor<?x80xf32> {
  // expected-error@+1 {{'attn_gpu.linear_tile' op multiplies 'f32' by 'f32', which mma does not}}
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>>} : tensor<?x96xf32>, tensor<96x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// And bf16 never are.
func.func @halves(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{'attn_gpu.linear_tile' op multiplies 'bf16' by 'bf16', which tf32 does not}}
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2, matmul = tf32>>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// Integers are multiplied in steps of one size.
attn.parameter @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>, offset = 0 : i64, stride = 6912 : i64}
func.func @steps(%x: tensor<?x128xf32>) -> tensor<?x80xf32> {
  %codes = attn.quantize_rows %x : tensor<?x128xf32> -> tensor<?x128x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has a schedule of 64x64 by 4 warps; it multiplies by mma in steps of 128, and has neither 'parts' nor 'blocks'}}
  %y = attn.linear %codes, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// All warps of a quantized matmul have all of k.
attn.parameter @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>, offset = 0 : i64, stride = 6912 : i64}
func.func @parts(%x: tensor<?x128xf32>) -> tensor<?x80xf32> {
  %codes = attn.quantize_rows %x : tensor<?x128xf32> -> tensor<?x128x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has a schedule of 64x64 by 4 warps; it multiplies by mma in steps of 128}}
  %y = attn.linear %codes, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3, parts = 2>>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// Text may ask for a rotation that is not there.
func.func @rotates(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule that rotates, but no rotation reads its heads}}
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>, rotates = true>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

func.func @halves(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x10x8xbf16> {
  // expected-error@+1 {{has a schedule that rotates, but a thread has no two channels half a head apart}}
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>, rotates = true>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  %heads = attn.split_heads %y : tensor<?x80xbf16> -> tensor<?x10x8xbf16>
  %rotated = attn.rope %heads, %c, %s : tensor<?x10x8xbf16>, tensor<?x4xf32>
  return %rotated : tensor<?x10x8xbf16>
}
