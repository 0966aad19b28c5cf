// RUN: rapt-opt %s --attn-verify-laid-out --verify-diagnostics --split-input-file

// The promises of the stage laid-out about memory. The first module keeps it but for the schedules, which are verified last: an epilogue that is not zero has its padding
// zeroed, a returned matmul is narrow, and the norm counts 50 columns.
// expected-error@+1 {{has no attn.schedule with #attn.linalg_tiles}}
module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 50], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}
attn.parameter @g : tensor<64xf32> from [#attn.source<"g">] {layout = #attn.rows<shape = [50]>, offset = 16384 : i64, stride = 256 : i64}
func.func @kept(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x50xf32>) {
  %w = attn.parameter_slice @w : tensor<2x64x32xf32>
  %g = attn.parameter_slice @g : tensor<64xf32>
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %n = attn.rms_norm %y, %g epsilon 1.0e-6 columns 50 : tensor<?x64xf32>, tensor<64xf32>
  %z = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x50xf32>
  return %n, %z : tensor<?x64xf32>, tensor<?x50xf32>
}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{has rows of 50 columns in the layout #attn.rows<shape = [7, 50]>: the laid-out stage promises padding to multiples of 32}}
attn.parameter @t : tensor<7x50xf32> from [#attn.source<"t">] {layout = #attn.rows<shape = [7, 50]>, offset = 0 : i64, stride = 1408 : i64}
}

// -----

// Each group has its own padding.
module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{has rows of 80 columns in the layout #attn.rows<shape = [50], column_group = 10>: the laid-out stage promises padding to multiples of 32}}
attn.parameter @t : tensor<80xf32> from [#attn.source<"t">] {layout = #attn.rows<shape = [50], column_group = 10>, offset = 0 : i64, stride = 320 : i64}
}

// -----

// Quantized rows are the generic target's.
module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{but the CPU knows floats by rows (#attn.rows) and packed panels (#attn_cpu.packed)}}
attn.parameter @t : tensor<7x64x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"t">] {layout = #attn.rows<shape = [7, 64]>, offset = 0 : i64, stride = 512 : i64}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{has offset 32 and stride 16384, expected multiples of 64 and a stride of at least the bytes of a layer, 16384}}
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 50], interleave = 1>, offset = 32 : i64, stride = 16384 : i64}
}

// -----

// Two panels of two groups of 32 rows of bytes and 64 bytes of scales.
module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{has offset 0 and stride 4288, expected multiples of 64 and a stride of at least the bytes of a layer, 4352}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 4>, offset = 0 : i64, stride = 4288 : i64}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @w layers 2 : tensor<2x2x64x32xf32> from [#attn.source<"{layer}">] {layout = #attn_cpu.packed<shape = [64, 50], interleave = 1>, offset = 64 : i64, stride = 16384 : i64}
// expected-error@+1 {{begins at byte 16448 of the weight file, where 'w' is}}
attn.parameter @g : tensor<64xf32> from [#attn.source<"g">] {layout = #attn.rows<shape = [64]>, offset = 16448 : i64, stride = 256 : i64}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @w : tensor<2x32x64xbf16> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 2>, offset = 0 : i64, stride = 8192 : i64}
func.func @read() -> tensor<?x32x64xbf16> {
  %w = attn.parameter_slice @w : tensor<2x32x64xbf16>
  // expected-error@+1 {{'tensor.cast' op reads 'w', which is in packed panels, without layout = #attn_cpu.panels<columns = 32, interleave = 2>}}
  %c = tensor.cast %w : tensor<2x32x64xbf16> to tensor<?x32x64xbf16>
  return %c : tensor<?x32x64xbf16>
}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 50], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}
func.func @narrow(%x: tensor<?x64xf32>) -> tensor<?x50xf32> {
  %w = attn.parameter_slice @w : tensor<2x64x32xf32>
  // expected-error@+1 {{gives 50 of 64 columns, but not to func.return alone: the laid-out stage promises whole panels of 32}}
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x50xf32>
  %z = attn.activation relu %y : tensor<?x50xf32>
  return %z : tensor<?x50xf32>
}
}

// -----

// The sigmoid of padding is 1/2.
module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 50], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}
func.func @nonzero(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @w : tensor<2x64x32xf32>
  // expected-error@+1 {{has an epilogue that is not zero where its operands are, in 64 columns of which 50 count, and 'attn.activation' reads it: the laid-out stage promises that padding is zero}}
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32> {
  ^bb0(%sum: f32):
    %one = arith.constant 1.0 : f32
    %0 = arith.addf %sum, %one : f32
    attn.yield %0 : f32
  }
  %z = attn.activation relu %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
attn.parameter @g : tensor<64xf32> from [#attn.source<"g">] {layout = #attn.rows<shape = [50]>, offset = 0 : i64, stride = 256 : i64}
func.func @counted(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %g = attn.parameter_slice @g : tensor<64xf32>
  // expected-error@+1 {{takes the mean of 64 columns, but 'g' has 50: the laid-out stage promises that padding does not count}}
  %y = attn.layer_norm %x, %g, %g epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

module attributes {attn.model = {}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{a cache without a layout: the laid-out stage promises the tensor of its blocks}}
func.func @cache(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>) {
  return
}
}
