// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @ranks(%x: tensor<?x4x16xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{'attn.linear' op needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], found 'tensor<?x4x16xf32>' and 'tensor<?x96xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x4x16xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @rows(%x: tensor<3x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], found 'tensor<3x64xf32>' and 'tensor<4x96xf32>'}}
  %0 = attn.linear %x, %w : tensor<3x64xf32>, tensor<64x96xf32> -> tensor<4x96xf32>
  return
}

// -----

func.func @packed_transposed(%x: tensor<?x64xf32>, %w: tensor<3x64x32xf32>) {
  // expected-error@+1 {{cannot be transposed when the weight has a layout}}
  %0 = attn.linear %x, %w transposed {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @panel(%x: tensor<?x64xf32>, %w: tensor<3x64x16xf32>) {
  // expected-error@+1 {{weight 'tensor<3x64x16xf32>' in the layout #attn_cpu.panels<columns = 32, interleave = 1> does not fit input 'tensor<?x64xf32>' and result 'tensor<?x48xf32>'}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x16xf32> -> tensor<?x48xf32>
  return
}

// -----

func.func @panels_columns(%x: tensor<?x64xf32>, %w: tensor<3x64x32xf32>) {
  // expected-error@+1 {{weight 'tensor<3x64x32xf32>' in the layout #attn_cpu.panels<columns = 32, interleave = 1> does not fit input 'tensor<?x64xf32>' and result 'tensor<?x64xf32>'}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @panels_rows(%x: tensor<?x63xf32>, %w: tensor<3x64x32xf32>) {
  // expected-error@+1 {{does not fit input 'tensor<?x63xf32>'}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x63xf32>, tensor<3x64x32xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @weight_rank(%x: tensor<?x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{needs a weight of rank 2, or a layout, found 'tensor<64xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @weight(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>) {
  // expected-error@+1 {{weight 'tensor<96x64xf32>' does not fit input 'tensor<?x64xf32>' and result 'tensor<?x96xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @weight_transposed(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{weight 'tensor<64x96xf32>' transposed does not fit}}
  %0 = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @bias(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %b: tensor<95xf32>) {
  // expected-error@+1 {{extra operand 'tensor<95xf32>' is neither a bias [n] nor of the result's shape 'tensor<?x96xf32>'}}
  %0 = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x96xf32>, (tensor<95xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %bias: f32):
    attn.yield %sum : f32
  }
  return
}

// -----

func.func @no_epilogue(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>) {
  // expected-error@+1 {{has extra operands but no epilogue region}}
  %0 = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x96xf32>, (tensor<96xf32>) -> tensor<?x96xf32>
  return
}

// -----

func.func @epilogue_arguments(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>) {
  // expected-error@+1 {{epilogue must take the f32 sum and one f32 for each of the 1 extra operands}}
  %0 = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x96xf32>, (tensor<96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
    attn.yield %sum : f32
  }
  return
}

// -----

func.func @epilogue_yield(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{epilogue region must yield 'f32'}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
    %1 = arith.truncf %sum : f32 to bf16
    attn.yield %1 : bf16
  }
  return
}

// -----

func.func @epilogue_empty(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{empty block: expect at least a terminator}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
  }
  return
}

// -----

func.func @epilogue_blocks(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{epilogue region must have one block}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
    cf.br ^bb1
  ^bb1:
    attn.yield %sum : f32
  }
  return
}

// -----

func.func @epilogue_capture(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>, %i: index) {
  // expected-error@+1 {{epilogue region reads a 'tensor<96xf32>' from outside: it must be an extra operand}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
    %1 = tensor.extract %b[%i] : tensor<96xf32>
    %2 = arith.addf %sum, %1 : f32
    attn.yield %2 : f32
  }
  return
}

// -----

func.func @yield_parent(%x: f32) -> f32 {
  // expected-error@+1 {{'attn.yield' op gives the element that a region computes, but 'func.func' has no such region}}
  attn.yield %x : f32
}

// -----

func.func @kind(%x: tensor<?x64xf32>) {
  // expected-error@+2 {{failed to parse Attn_ActivationAttr parameter}}
  // expected-error@+1 {{expected ::rapt::attn::ActivationKind to be one of: gelu, gelu_tanh, relu, silu, tanh, sigmoid, quick_gelu}}
  %0 = attn.activation swish %x : tensor<?x64xf32>
  return
}

// -----

// Panels of pairs are of bf16 alone.
func.func @pairs_of_f16(%x: tensor<?x64xf32>, %w: tensor<3x32x64xf16>) {
  // expected-error@+1 {{weight 'tensor<3x32x64xf16>' in the layout #attn_cpu.panels<columns = 32, interleave = 1> does not fit input 'tensor<?x64xf32>' and result 'tensor<?x96xf32>'}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x32x64xf16> -> tensor<?x96xf32>
  return
}

// -----

func.func @more_pairs_than_columns(%x: tensor<?x63xf32>, %w: tensor<3x33x64xbf16>) {
  // expected-error@+1 {{weight 'tensor<3x33x64xbf16>' in the layout #attn_cpu.panels<columns = 32, interleave = 2> does not fit input 'tensor<?x63xf32>' and result 'tensor<?x96xf32>'}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x63xf32>, tensor<3x33x64xbf16> -> tensor<?x96xf32>
  return
}

// -----

func.func @rounded_rows(%x: tensor<?x64xbf16>, %w: tensor<3x64x32xbf16>) {
  // expected-error@+1 {{takes no rows 'tensor<?x64xbf16>' with a weight in the layout #attn_cpu.panels<columns = 32, interleave = 1>}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xbf16>, tensor<3x64x32xbf16> -> tensor<?x96xf32>
  return
}

// -----

func.func @clip(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{'attn.clip' op needs a finite bound of at least 0, found -1.0}}
  %0 = attn.clip %x within -1.0 : tensor<?x64xf32>
  return
}

// -----

func.func @heads_of_result(%x: tensor<?x4x16xf32>, %w: tensor<16x96xf32>) {
  // expected-error@+1 {{needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], found 'tensor<?x4x16xf32>' and 'tensor<?x3x32xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x4x16xf32>, tensor<16x96xf32> -> tensor<?x3x32xf32>
  return
}

// -----

func.func @matrices_of_heads(%x: tensor<?x4x16xf32>, %w: tensor<96x16xf32>) {
  // expected-error@+1 {{has heads 'tensor<?x4x16xf32>', but its weight 'tensor<96x16xf32>' has no matrix for each with the columns of its result 'tensor<?x4x32xf32>'}}
  %0 = attn.linear %x, %w transposed : tensor<?x4x16xf32>, tensor<96x16xf32> -> tensor<?x4x32xf32>
  return
}

// -----

func.func @dynamic_heads(%x: tensor<?x?x16xf32>, %w: tensor<16x96xf32>) {
  // expected-error@+1 {{has heads 'tensor<?x?x16xf32>', but its weight 'tensor<16x96xf32>' has no matrix for each with the columns of its result 'tensor<?x?x32xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x?x16xf32>, tensor<16x96xf32> -> tensor<?x?x32xf32>
  return
}

// -----

func.func @depth_of_heads(%x: tensor<?x3x20xf32>, %w: tensor<16x96xf32>) {
  // expected-error@+1 {{weight 'tensor<16x96xf32>' does not fit input 'tensor<?x3x20xf32>' and result 'tensor<?x3x32xf32>'}}
  %0 = attn.linear %x, %w : tensor<?x3x20xf32>, tensor<16x96xf32> -> tensor<?x3x32xf32>
  return
}

// -----

func.func @extra_of_heads(%x: tensor<?x3x16xf32>, %w: tensor<16x96xf32>, %b: tensor<96xf32>) {
  // expected-error@+1 {{multiplies each head by a matrix of its own, which takes no groups of rows, no extra operands and no quantized weight}}
  %0 = attn.linear %x, %w, (%b) : tensor<?x3x16xf32>, tensor<16x96xf32>, (tensor<96xf32>) -> tensor<?x3x32xf32> {
  ^bb0(%sum: f32, %bias: f32):
    attn.yield %sum : f32
  }
  return
}
