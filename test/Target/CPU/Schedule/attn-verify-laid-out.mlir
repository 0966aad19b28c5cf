// RUN: rapt-opt %s --attn-verify-laid-out --verify-diagnostics --split-input-file

module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// A module that keeps the contract.
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}
}

// -----

module attributes {attn.target = {target = "cpu"}} {
// expected-error@+1 {{has no layout, offset and stride, which the laid-out stage promises}}
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]
}

// -----

module attributes {attn.target = {target = "cpu"}} {
func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{gives a cache without a layout, which the laid-out stage promises}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.target, which the laid-out stage promises}}
module {
}

// -----

module attributes {attn.target = {target = "cpu"}} {
func.func @tile(%rows: memref<4x64xbf16>, %panel: memref<32x64xbf16>, %dest: memref<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.vnni_matmul' op is an op of tiles, which the laid-out stage must not have}}
  attn_cpu.vnni_matmul %rows, %panel, %dest : memref<4x64xbf16>, memref<32x64xbf16>, memref<4x32xf32>
  return
}
}

// -----

module attributes {attn.target = {target = "cpu"}} {
func.func @vectors() {
  // expected-error@+1 {{'ub.poison' op is not of the stage laid-out, whose dialects are builtin, attn, attn_cpu, arith, func, linalg, math, scf, tensor}}
  %p = ub.poison : f32
  return
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.schedule with #attn.linalg_tiles}}
module attributes {attn.target = {target = "cpu"}} {
}

// -----

module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
func.func @linear(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op has no attn.schedule, which attn-cpu-schedule sets}}
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.schedule with 'copies', which attn-cpu-schedule sets}}
module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
}

// -----

// expected-error@+1 {{has a schedule whose 'rows' must be from 1 to 32, found 33}}
module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 33>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
}

// -----

// expected-error@+1 {{has a schedule whose 'prefetch_bytes' must be from 1 to 1048576, found 1048577}}
module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 1048577, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>} {
}

// -----

// expected-error@+1 {{has a schedule whose 'apart_bytes' must be from 1 to 4096, found 4097}}
module attributes {attn.target = {target = "cpu"}, attn.schedule = #attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 4097>>} {
}

// -----

// The type of the cache in a model's entry, from which the manifest is written, is that of the memory.
module attributes {attn.model = {family = "any"}, attn.target = {target = "cpu"}} {
func.func @step(%c: tensor<?x1x1x2x64x32xf32> {attn.name = "cache", attn.cache = !attn.kv_cache<1 x 1 x 32, block = 32, f32>}, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{works on blocks of 64 positions, but 'attn.cache' of no argument of the function describes such}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t) {layout = #attn_cpu.cache_panels<positions = 64, keys = 32, values = 32>}
    : tensor<?x1x1x2x64x32xf32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
}

// -----

module attributes {attn.model = {family = "any"}, attn.target = {target = "cpu"}} {
// expected-error@+1 {{has 'attn.cache' of argument 0, of type 'tensor<4xf32>', which is no memory of blocks: a tensor [blocks, extents of a block]}}
func.func @step(%c: tensor<4xf32> {attn.name = "cache", attn.cache = !attn.kv_cache<1 x 1 x 32, block = 32, f32>}) {
  return
}
}
