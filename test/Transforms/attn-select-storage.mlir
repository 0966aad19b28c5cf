// RUN: rapt-opt %s --attn-select-storage=dtype=bf16 | FileCheck %s
// RUN: not rapt-opt %s --attn-select-storage=dtype=f64 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: storage type must be f32, bf16 or f16, found 'f64'

// Matrices take the type, vectors stay.
// CHECK: @w : tensor<64x80xbf16>
// CHECK: @b : tensor<80xf32>
attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
attn.parameter @b : tensor<80xf32> from [#attn.source<"b">]
func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
  // CHECK: attn.parameter_slice @w : tensor<64x80xbf16>
  %w = attn.parameter_slice @w : tensor<64x80xf32>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#t = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// Tables of attention are read by element: they stay too.
// CHECK: @table : tensor<4x20xf32>
attn.parameter @table : tensor<4x20xf32> from [#attn.source<"table">]
func.func @lookup(%q: tensor<?x4x20xf32>, %s: f32) -> tensor<?x4x20xf32> {
  %t = attn.parameter_slice @table : tensor<4x20xf32>
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x20xf32>) maps [#q, #k, #v, #o, #t] : tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?x4x20xf32> -> tensor<?x4x20xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %table: tensor<4x20xf32>):
      %1 = attn.lookup %table[%h, %j] : tensor<4x20xf32> -> f32
      attn.yield %1 : f32
    }
  return %0 : tensor<?x4x20xf32>
}

// A query that is selected for each sequence is an activation, whose type its users have: it stays.
// CHECK: @query : tensor<1x20xf32>
attn.parameter @query : tensor<1x20xf32> from [#attn.source<"query">]
func.func @select(%rows: tensor<?xi32>) -> tensor<?x20xf32> {
  %t = attn.parameter_slice @query : tensor<1x20xf32>
  // CHECK: attn.select_rows %{{.*}} : tensor<1x20xf32>, tensor<?xi32> -> tensor<?x20xf32>
  %0 = attn.select_rows %t, %rows : tensor<1x20xf32>, tensor<?xi32> -> tensor<?x20xf32>
  return %0 : tensor<?x20xf32>
}
