// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

func.func @number(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule 'tensor_cores' without 'rows', 'columns', 'depth', 'warps' or 'stages'}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

func.func @few(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule 'few_rows' without 'rows', 'columns', 'depth', 'warps' or 'stages'}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>, few_rows = <rows = 16>>}
      : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

func.func @many(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule 'many_rows' without 'least'}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>,
                                                          many_rows = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>}
      : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// The tile's own rules are those of its op.
func.func @rows(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{'attn_gpu.linear_tile' op has a schedule of 17x64 in steps of 32 by 2 warps}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 17, stages = 2, warps = 2>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// A schedule on another op is for that op.
func.func @quantized(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<96x64x!attn.quantized<u4 group 32 axis 1>>) -> tensor<?x96xf32> {
  // expected-error@+1 {{has a schedule 'tensor_cores', but tensor cores take a quantized weight in panels of the weight file}}
  %y = attn.linear %x, %w transposed {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>}
      : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<96x64x!attn.quantized<u4 group 32 axis 1>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// f32 are on tensor cores as tf32 alone.
func.func @terms(%x: tensor<?x96xf32>, %w: tensor<96x80xf32>) -> tensor<?x80xf32> {
  // expected-error@+1 {{has a schedule 'tensor_cores' of 0 tf32 for each f32; matmuls of f32 on 'tensor_cores' have 1 or 2, others 0}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>} : tensor<?x96xf32>, tensor<96x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// And bf16 never are.
func.func @halves(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule 'tensor_cores' of 1 tf32 for each f32;}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, tf32 = 1, warps = 2>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// Tiles of one matmul multiply in one way, as sums do not depend on the number of rows.
func.func @ways(%x: tensor<?x96xf32>, %w: tensor<96x80xf32>) -> tensor<?x80xf32> {
  // expected-error@+1 {{has a schedule 'multiply_adds' of 2 tf32 for each f32;}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<multiply_adds = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>, few_rows = <columns = 64, depth = 32, rows = 16, stages = 2, tf32 = 2, warps = 2>>}
      : tensor<?x96xf32>, tensor<96x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

func.func @most(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule 'most_rows' without 'least'}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>,
                                                          most_rows = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>}
      : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// Integers are multiplied in steps of one size.
attn.parameter @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>, offset = 0 : i64, stride = 6912 : i64}
func.func @steps(%x: tensor<?x128xf32>) -> tensor<?x80xf32> {
  %codes = attn.quantize_rows %x : tensor<?x128xf32> -> tensor<?x128x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has a quantized weight and a schedule of steps of 64; those of 128 are known}}
  %y = attn.linear %codes, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// All warps of a quantized matmul have all of k.
attn.parameter @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>, offset = 0 : i64, stride = 6912 : i64}
func.func @parts(%x: tensor<?x128xf32>) -> tensor<?x80xf32> {
  %codes = attn.quantize_rows %x : tensor<?x128xf32> -> tensor<?x128x!attn.quantized<s8 group 32 axis 1>>
  %w = attn.parameter_slice @w : tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>>
  // expected-error@+1 {{has a quantized weight and a schedule of 2 parts; those of 1 are known}}
  %y = attn.linear %codes, %w {attn.schedule = #attn.schedule<tensor_cores = <columns = 64, depth = 128, parts = 2, rows = 64, stages = 3, warps = 4>>, layout = #attn_gpu.quantized_panels<shape = [128, 80], interleave = 8>}
      : tensor<?x128x!attn.quantized<s8 group 32 axis 1>>, tensor<3x128x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// Text may ask for a rotation that is not there.
func.func @rotates(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  // expected-error@+1 {{has a schedule that 'rotates', but no rotation reads its heads}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<rotates = 1, tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

func.func @halves(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x10x8xbf16> {
  // expected-error@+1 {{has a schedule that 'rotates', but a thread has no two channels half a head apart}}
  %y = attn.linear %x, %w {attn.schedule = #attn.schedule<rotates = 1, tensor_cores = <columns = 64, depth = 32, rows = 16, stages = 2, warps = 2>>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  %heads = attn.split_heads %y : tensor<?x80xbf16> -> tensor<?x10x8xbf16>
  %rotated = attn.rope %heads, %c, %s : tensor<?x10x8xbf16>, tensor<?x4xf32>
  return %rotated : tensor<?x10x8xbf16>
}
