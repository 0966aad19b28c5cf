// RUN: rapt-opt %s --attn-verify-tiled --verify-diagnostics --split-input-file

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @whole(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{is left whole: the tiled stage promises tiles}}
  %y = attn.activation relu %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @encoding() -> tensor<4xf32, "packed"> {
  // expected-error@+1 {{upstream ops drop or misread an encoding}}
  %e = tensor.empty() : tensor<4xf32, "packed">
  return %e : tensor<4xf32, "packed">
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// Near miss: plain tensors and declarations may stay.
attn.dim @n min 0 max 64
func.func @plain() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @beyond(%x: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim 2 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  return %d : index
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @quantized() {
  // expected-error@+1 {{gives 'tensor<4x32x!attn.quantized<u8 group 0 axis 1>>': the tiled stage promises its bytes}}
  %e = tensor.empty() : tensor<4x32x!attn.quantized<u8 group 0 axis 1>>
  return
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @memory(%x: memref<8xf32>, %c0: index) {
  // expected-error@+1 {{'memref.prefetch' op is not of the stage tiled, whose dialects are builtin, attn, attn_cpu, affine, arith, func, linalg, math, scf, tensor, ub, vector}}
  memref.prefetch %x[%c0], read, locality<3>, data : memref<8xf32>
  return
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.target, which the tiled stage promises}}
module attributes {attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.schedule with 'copies', which attn-cpu-schedule sets}}
module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @product(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'linalg.matmul' op is left whole: the tiled stage promises tiles in grids (scf.forall)}}
  %z = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%y : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @unscheduled(%x: tensor<14x64xf32>, %w: tensor<64x32xf32>, %y: tensor<14x32xf32>) -> tensor<14x32xf32> {
  %z = scf.forall (%i) in (1) shared_outs(%all = %y) -> (tensor<14x32xf32>) {
    // expected-error@+1 {{'linalg.matmul' op has no attn.schedule, which attn-cpu-schedule sets}}
    %t = linalg.matmul ins(%x, %w : tensor<14x64xf32>, tensor<64x32xf32>) outs(%all : tensor<14x32xf32>) -> tensor<14x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %all[0, 0] [14, 32] [1, 1] : tensor<14x32xf32> into tensor<14x32xf32>
    }
  }
  return %z : tensor<14x32xf32>
}
}

// -----

module attributes {attn.target = {target = "cpu"},
  attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// Near miss: a sum of all elements has no parallel loop, so no grid.
func.func @sum(%x: tensor<64xf32>, %y: tensor<f32>) -> tensor<f32> {
  %z = linalg.reduce { arith.addf } ins(%x : tensor<64xf32>) outs(%y : tensor<f32>) dimensions = [0]
  return %z : tensor<f32>
}
}
