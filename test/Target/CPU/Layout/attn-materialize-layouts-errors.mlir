// RUN: rapt-opt %s --attn-materialize-layouts --verify-diagnostics --split-input-file

// expected-error@+1 {{is read by two ops that need different layouts}}
attn.parameter @w : tensor<32x32xf32> from [#attn.source<"w">]
func.func @both_ways(%x: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %w = attn.parameter_slice @w : tensor<32x32xf32>
  %y = attn.linear %x, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %z = attn.linear %x, %w transposed : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  return %y, %z : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

attn.parameter @w : tensor<32x32xf32> from [#attn.source<"w">]
func.func @unknown_use() -> tensor<32x32xf32> {
  %w = attn.parameter_slice @w : tensor<32x32xf32>
  // expected-error@+1 {{reads a parameter, but no layout is known for its use}}
  return %w : tensor<32x32xf32>
}

// -----

// The mean of heads of 80 channels, each padded to 96, is not that of the first 160 columns.
module attributes {attn.model = {family = "any"}} {
func.func @normalized(%x: tensor<?x160xf32>) -> tensor<?x160xf32> {
  %w = arith.constant dense<1.0> : tensor<160xf32>
  %heads = attn.split_heads %x : tensor<?x160xf32> -> tensor<?x2x80xf32>
  %merged = attn.merge_heads %heads : tensor<?x2x80xf32> -> tensor<?x160xf32>
  // expected-error@+1 {{takes 160 columns that are padded in groups, as 'tensor<?x192xf32>'}}
  %0 = attn.rms_norm %merged, %w epsilon 1.0e-6 : tensor<?x160xf32>, tensor<160xf32>
  return %0 : tensor<?x160xf32>
}
}

// -----

// Heads of 80 channels are padded to 96 each: their columns are not contiguous.
module attributes {attn.model = {family = "any"}} {
func.func @grouped(%x: tensor<?x160xf32>, %y: tensor<?x32xf32>) -> tensor<?x192xf32> {
  %heads = attn.split_heads %x : tensor<?x160xf32> -> tensor<?x2x80xf32>
  %merged = attn.merge_heads %heads : tensor<?x2x80xf32> -> tensor<?x160xf32>
  // expected-error@+1 {{takes 160 columns that are padded in groups, as 'tensor<?x192xf32>'}}
  %0 = attn.concat %merged, %y : tensor<?x160xf32>, tensor<?x32xf32>
  return %0 : tensor<?x192xf32>
}
}

// -----

// Only ops on caches and loops take one whose parts are apart.
!cache = !attn.kv_cache<[1 x 1 x (64 x f32, 32 x f32)], block = 64>
func.func @chosen(%cache: !cache, %other: !cache, %which: i1) -> !cache {
  // expected-error@+1 {{'arith.select' op takes '!attn.kv_cache<[1 x 1 x (64 x f32, 32 x f32)], block = 64>', which only appends, views and loops do}}
  %0 = arith.select %which, %cache, %other : !cache
  return %0 : !cache
}

// -----

// expected-error@+1 {{has a cache whose blocks are too large: '!attn.kv_cache<[4294967296 x 4294967296 x (64 x f32, 32 x f32)], block = 64>'}}
func.func @large(%cache: !attn.kv_cache<[4294967296 x 4294967296 x (64 x f32, 32 x f32)], block = 64>) {
  return
}

// -----

// expected-error@+1 {{has a cache whose blocks are too large: '!attn.kv_cache<1 x 1 x 268435456, block = 64, f32>'}}
func.func @channels(%cache: !attn.kv_cache<1 x 1 x 268435456, block = 64, f32>) {
  return
}

// -----

// expected-error@+1 {{has no layout: expected a matrix with extents from 1 to 2^40, found [2, 4611686018427387904]}}
attn.parameter @huge : tensor<2x4611686018427387904xf32> from [#attn.source<"huge">]
func.func @wide(%x: tensor<?x2xf32>) -> tensor<?x4611686018427387904xf32> {
  %w = attn.parameter_slice @huge : tensor<2x4611686018427387904xf32>
  %y = attn.linear %x, %w : tensor<?x2xf32>, tensor<2x4611686018427387904xf32> -> tensor<?x4611686018427387904xf32>
  return %y : tensor<?x4611686018427387904xf32>
}

// -----

// expected-error@+1 {{has no layout: expected extents from 1 to 2^40, found [4611686018427387904]}}
attn.parameter @huge : tensor<4611686018427387904xf32> from [#attn.source<"huge">]

// -----

// Each is small enough, all of them are not.
attn.parameter @first : tensor<1099511627776x32768x1xf32> from [#attn.source<"first">]
// expected-error@+1 {{has no layout: the weight file would have more bytes than 64 bits hold}}
attn.parameter @second : tensor<1099511627776x32768x1xf32> from [#attn.source<"second">]

// -----

module attributes {attn.model = {family = "any"}} {
func.func @experts(%x: tensor<?x64xf32>, %w: tensor<64x80xf32>, %groups: tensor<3x2xi32>) -> tensor<?x40xf32> {
  // expected-error@+1 {{multiplies rows by one of several matrices each, which are no parameter: the CPU takes only parameters here, or matrices of a multiple of 32 columns}}
  %y = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x80xf32> groups tensor<3x2xi32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
}

// -----

module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<60x64xf32> from [#attn.source<"w">]
func.func @heads(%x: tensor<?x3x64xf32>) -> tensor<?x3x20xf32> {
  %w = attn.parameter_slice @w : tensor<60x64xf32>
  %v = arith.mulf %w, %w : tensor<60x64xf32>
  // expected-error@+1 {{which are no parameter: the CPU takes only parameters here, or matrices of a multiple of 32 columns}}
  %y = attn.linear %x, %v transposed : tensor<?x3x64xf32>, tensor<60x64xf32> -> tensor<?x3x20xf32>
  return %y : tensor<?x3x20xf32>
}
}
