// RUN: rapt-opt %s --attn-verify-tiled --verify-diagnostics --split-input-file

func.func @whole(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{is left whole: the tiled stage promises tiles}}
  %y = attn.activation relu %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @encoding() -> tensor<4xf32, "packed"> {
  // expected-error@+1 {{upstream ops drop or misread an encoding}}
  %e = tensor.empty() : tensor<4xf32, "packed">
  return %e : tensor<4xf32, "packed">
}

// -----

// Near miss: plain tensors and declarations may stay.
attn.dim @n min 0 max 64
func.func @plain() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

func.func @beyond(%x: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim 2 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  return %d : index
}

// -----

func.func @quantized() {
  // expected-error@+1 {{gives 'tensor<4x32x!attn.quantized<u8 group 0 axis 1>>': the tiled stage promises its bytes}}
  %e = tensor.empty() : tensor<4x32x!attn.quantized<u8 group 0 axis 1>>
  return
}

// -----

func.func @memory(%x: memref<8xf32>, %c0: index) {
  // expected-error@+1 {{'memref.prefetch' op is not of the stage tiled, whose dialects are builtin, attn, attn_cpu, affine, arith, func, linalg, math, scf, tensor, ub, vector}}
  memref.prefetch %x[%c0], read, locality<3>, data : memref<8xf32>
  return
}
