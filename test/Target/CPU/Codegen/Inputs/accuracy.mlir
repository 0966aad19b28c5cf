// Each function on every element of y: in the epilogue of a matmul, where programs have them.
attn.dim @rows min 0 max 1048576
func.func @f32_exp(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.exp %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_exp2(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.exp2 %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_exp2_nonpositive(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %a = math.absf %e : f32
    %n = arith.negf %a : f32
    %0 = math.exp2 %n {nonpositive} : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_exp2_rounded(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %a = math.absf %e : f32
    %n = arith.negf %a : f32
    %0 = math.exp2 %n {nonpositive, rounded} : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_tanh(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.tanh %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_erf(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.erf %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_sin(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.sin %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_cos(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.cos %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
func.func @f32_log(%x: tensor<?x32xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x32x32xf32> {attn.name = "w"}, %y: tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]})
    -> (tensor<?x32xf32> {attn.name = "z", attn.dims = ["rows"]}) attributes {attn.entry} {
  %z = attn.linear %x, %w, (%y) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %e: f32):
    %0 = math.log %e : f32
    attn.yield %0 : f32
  }
  return %z : tensor<?x32xf32>
}
