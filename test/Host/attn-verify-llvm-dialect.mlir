// RUN: rapt-opt %s --attn-verify-llvm-dialect --split-input-file --verify-diagnostics

// Declarations stay, for the manifest.
attn.dim @n min 0 max 64
attn.parameter @w : tensor<64x32xf32> from [#attn.source<"w">]
llvm.func @f() {
  llvm.return
}

// -----

func.func @f() {
  // expected-error@+1 {{'func.return' op is not of the stage llvm-dialect, whose dialects are builtin, attn, llvm}}
  return
}

// -----

attn.dim @n min 0 max 64
llvm.func @f() {
  // expected-error@+1 {{'attn.dim_size' op is left: the llvm-dialect stage promises declarations alone}}
  %n = attn.dim_size @n : index
  llvm.return
}

// -----

// expected-error@+1 {{'llvm.func' op is an entry without attn.buffers, which the llvm-dialect stage promises}}
llvm.func @f() attributes {attn.entry} {
  llvm.return
}

// -----

// A conversion leaves operations without a pattern as they are, and says nothing: contractions of two types, functions whose expansion another pass has
// taken away, and casts between types of both sides.
llvm.func @contraction(%a: vector<4xbf16>, %b: vector<4xbf16>, %c: f32) -> f32 {
  // expected-error@+1 {{'vector.contract' op is not of the stage llvm-dialect, whose dialects are builtin, attn, llvm}}
  %0 = vector.contract {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4xbf16>, vector<4xbf16> into f32
  llvm.return %0 : f32
}

// -----

llvm.func @function(%x: f32) -> f32 {
  // expected-error@+1 {{'math.log1p' op is not of the stage llvm-dialect, whose dialects are builtin, attn, llvm}}
  %0 = math.log1p %x : f32
  llvm.return %0 : f32
}

// -----

llvm.func @cast(%x: i64) {
  // expected-error@+1 {{'builtin.unrealized_conversion_cast' op is left by a conversion: the llvm-dialect stage promises its types alone}}
  %0 = builtin.unrealized_conversion_cast %x : i64 to index
  llvm.return
}
