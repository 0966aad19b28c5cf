// Matmuls with and without epilogue, in every form of the weight; elementwise ops.
func.func @plain(%x: tensor<?x7xf32> {attn.name = "x"}, %w: tensor<7x5xf32> {attn.name = "w"}) -> tensor<?x5xf32> {
  %0 = attn.linear %x, %w : tensor<?x7xf32>, tensor<7x5xf32> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @transposed(%x: tensor<?x7xf32> {attn.name = "x"}, %w: tensor<5x7xf16> {attn.name = "w"}) -> tensor<?x5xf32> {
  %0 = attn.linear %x, %w transposed : tensor<?x7xf32>, tensor<5x7xf16> -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
func.func @panels(%x: tensor<?x9xf32> {attn.name = "x"}, %w: tensor<2x7x32xf32> {attn.name = "w"}) -> tensor<?x37xf32> {
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x9xf32>, tensor<2x7x32xf32> -> tensor<?x37xf32>
  return %0 : tensor<?x37xf32>
}
func.func @pairs(%x: tensor<?x7xf32> {attn.name = "x"}, %w: tensor<2x4x64xbf16> {attn.name = "w"}) -> tensor<?x37xf32> {
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x7xf32>, tensor<2x4x64xbf16> -> tensor<?x37xf32>
  return %0 : tensor<?x37xf32>
}
func.func @epilogue(%x: tensor<?x7xf32> {attn.name = "x"}, %w: tensor<7x5xf32> {attn.name = "w"}, %b: tensor<5xf32> {attn.name = "b"},
                    %r: tensor<?x5xf32> {attn.name = "r"}) -> tensor<?x5xf32> {
  %factor = arith.constant 0.75 : f32
  %0 = attn.linear %x, %w, (%b, %r) : tensor<?x7xf32>, tensor<7x5xf32>, (tensor<5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%sum: f32, %bias: f32, %residual: f32):
    %1 = arith.addf %sum, %bias : f32
    %2 = math.tanh %1 : f32
    %3 = math.fma %2, %factor, %residual : f32
    attn.yield %3 : f32
  }
  return %0 : tensor<?x5xf32>
}
func.func @activations(%x: tensor<?x5xf32> {attn.name = "x"})
    -> (tensor<?x5xf32> {attn.name = "gelu"}, tensor<?x5xf32> {attn.name = "gelu_tanh"}, tensor<?x5xf32> {attn.name = "relu"},
        tensor<?x5xf32> {attn.name = "silu"}, tensor<?x5xf32> {attn.name = "tanh"}, tensor<?x5xf32> {attn.name = "sigmoid"},
        tensor<?x5xf32> {attn.name = "quick_gelu"}) {
  %0 = attn.activation gelu %x : tensor<?x5xf32>
  %1 = attn.activation gelu_tanh %x : tensor<?x5xf32>
  %2 = attn.activation relu %x : tensor<?x5xf32>
  %3 = attn.activation silu %x : tensor<?x5xf32>
  %4 = attn.activation tanh %x : tensor<?x5xf32>
  %5 = attn.activation sigmoid %x : tensor<?x5xf32>
  %6 = attn.activation quick_gelu %x : tensor<?x5xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @gated(%x: tensor<?x5xf32> {attn.name = "x"}, %y: tensor<?x5xf32> {attn.name = "y"})
    -> (tensor<?x5xf32> {attn.name = "glu"}, tensor<?x5xf32> {attn.name = "sum"}) {
  %0 = attn.glu silu %x, %y : tensor<?x5xf32>
  %1 = arith.addf %x, %y : tensor<?x5xf32>
  return %0, %1 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @dynamic(%x: tensor<?x?xf32> {attn.name = "x"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> tensor<?x?xf32> {
  %0 = attn.linear %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// Rounded results: of a cast, of a matmul, and of a sum.
func.func @rounded(%x: tensor<?x7xf32> {attn.name = "x"}, %w: tensor<7x5xbf16> {attn.name = "w"})
    -> (tensor<?x7xf32> {attn.name = "cast"}, tensor<?x5xbf16> {attn.name = "product"}, tensor<?x5xf16> {attn.name = "sum"}) {
  %0 = arith.truncf %x : tensor<?x7xf32> to tensor<?x7xbf16>
  %1 = arith.extf %0 : tensor<?x7xbf16> to tensor<?x7xf32>
  %2 = attn.linear %x, %w : tensor<?x7xf32>, tensor<7x5xbf16> -> tensor<?x5xbf16>
  %3 = attn.linear %x, %w : tensor<?x7xf32>, tensor<7x5xbf16> -> tensor<?x5xf16>
  %4 = arith.addf %3, %3 : tensor<?x5xf16>
  return %1, %2, %4 : tensor<?x7xf32>, tensor<?x5xbf16>, tensor<?x5xf16>
}
func.func @clip(%x: tensor<?x5xf32> {attn.name = "x"}) -> tensor<?x5xf32> {
  %0 = attn.clip %x within 0.75 : tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
