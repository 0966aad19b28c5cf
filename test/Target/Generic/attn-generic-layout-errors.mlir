// RUN: rapt-opt %s --attn-generic-layout --verify-diagnostics --split-input-file

// Only matmuls and look-ups have a dequantized form.
attn.parameter @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>> from [#attn.source<"t">]
func.func @returned() -> tensor<99x64x!attn.quantized<u8 group 0 axis 1>> {
  %t = attn.parameter_slice @t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
  // expected-error@+1 {{'func.return' op reads a quantized parameter, but only matmuls and look-ups are known to}}
  return %t : tensor<99x64x!attn.quantized<u8 group 0 axis 1>>
}

// -----

// expected-error@+1 {{has no layout: expected extents from 1 to 2^40, found [4611686018427387904]}}
attn.parameter @huge : tensor<4611686018427387904xf32> from [#attn.source<"huge">]

// -----

// expected-error@+1 {{'func.func' op has a value of type 'tensor<8xcomplex<f32>>'; the canonical stage has caches, and scalars and tensors}}
func.func @complex(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> attributes {attn.entry} {
  return %x : tensor<8xcomplex<f32>>
}

// -----

// expected-error@+1 {{'attn.parameter' op has a layout already}}
attn.parameter @w : tensor<2x32x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [32, 64], interleave = 1>, offset = 0 : i64, stride = 8192 : i64}

// -----

// Rows of one element are padded to 32.
// expected-error@+1 {{has no layout: the weight file would have more bytes than 64 bits hold}}
attn.parameter @padded : tensor<1099511627776x131072x1xf32> from [#attn.source<"padded">]
