// RUN: rapt-opt %s --attn-verify-generic --verify-diagnostics --split-input-file

// A module that keeps the contract of laid-out: ops of attn are whole.
module attributes {attn.target = {target = "generic"}, attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
attn.parameter @w : tensor<64x96xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80]>, offset = 0 : i64, stride = 24576 : i64}
func.func @whole(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = attn.activation relu %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
// expected-error@+1 {{has no layout, offset and stride, which the laid-out stage promises}}
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @append(%c: !attn.kv_cache<1 x 1 x 32, block = 64, f32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{gives a cache without a layout, which the laid-out stage promises}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t)
    : !attn.kv_cache<1 x 1 x 32, block = 64, f32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @positions(%c: tensor<?x1x1x2x64x32xf32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x1x1x2x64x32xf32> {
  // expected-error@+1 {{'attn.kv_append' op has a schedule of 3 positions, which do not divide a block of 64}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t) {attn.schedule = #attn.append_tiles<channels = 1, positions = 3>, layout = #attn.cache_rows<positions = 64, keys = 32, values = 32>}
    : tensor<?x1x1x2x64x32xf32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : tensor<?x1x1x2x64x32xf32>
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @queries(%c: tensor<?x1x1x2x64x32xf32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x1x1x2x64x32xf32> {
  // expected-error@+1 {{'attn.kv_append' op has a schedule that is no #attn.append_tiles, found #attn.attention_tiles<keys = 64, queries = 16>}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t) {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>, layout = #attn.cache_rows<positions = 64, keys = 32, values = 32>}
    : tensor<?x1x1x2x64x32xf32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : tensor<?x1x1x2x64x32xf32>
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @channels(%c: tensor<?x1x1x2x64x32xf32>, %l: index, %k: tensor<?x1x32xf32>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x1x1x2x64x32xf32> {
  // expected-error@+1 {{'attn.kv_append' op has a schedule whose 'channels' must be from 1 to 1024, found 1025}}
  %n = attn.kv_append %c[%l], %k, %k rows(%r, %r, %t) {attn.schedule = #attn.append_tiles<channels = 1025>, layout = #attn.cache_rows<positions = 64, keys = 32, values = 32>}
    : tensor<?x1x1x2x64x32xf32>, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %n : tensor<?x1x1x2x64x32xf32>
}
}

// -----

// expected-error@+1 {{'builtin.module' op has no attn.target, which the laid-out stage promises}}
module {
}

// -----

// A call into the executor is made later.
module attributes {attn.target = {target = "generic"}} {
func.func private @task(%begin: index, %end: index, %worker: index) {
  return
}
func.func @call(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.parallel_for' op is not of the stage laid-out}}
  attn_host.parallel_for @task() count %n env %env : (), !llvm.ptr
  return
}
}

// -----

module attributes {attn.target = {target = "generic"}} {
func.func @vectors(%x: vector<4xf32>) -> vector<4xf32> {
  // expected-error@+1 {{'vector.shuffle' op is not of the stage laid-out, whose dialects are builtin, attn, affine, arith, func, linalg, math, scf, tensor}}
  %0 = vector.shuffle %x, %x [0, 1, 2, 3] : vector<4xf32>, vector<4xf32>
  return %0 : vector<4xf32>
}
}
