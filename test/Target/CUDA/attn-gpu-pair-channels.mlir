// RUN: rapt-opt %s --attn-gpu-pair-channels --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: rapt-opt %s --attn-gpu-pair-channels --split-input-file | FileCheck %s

// Columns of the rotated heads get another order in each source, and a source that has others behind them is cut. The bias follows.
// CHECK: attn.cache_order = "interleaved"
// CHECK: attn.parameter @qkv layers 2 : tensor<2x32x32xbf16> from concat<dim = 1> [#attn.source<"q.{layer}" : 16x32, transpose<1, 0>, reshape<32x2x2x4>, transpose<0, 1, 3, 2>, reshape<32x16>>,
// CHECK-SAME: #attn.source<"kv.{layer}" : 16x32, transpose<1, 0>, slice<dim = 1, 0 to 8>, reshape<32x1x2x4>, transpose<0, 1, 3, 2>, reshape<32x8>>,
// CHECK-SAME: #attn.source<"kv.{layer}" : 16x32, transpose<1, 0>, slice<dim = 1, 8 to 16>>]
// CHECK: attn.parameter @bias layers 2 : tensor<2x32xbf16> from concat<dim = 0> [#attn.source<"b.{layer}" : 32, slice<dim = 0, 0 to 24>, reshape<3x2x4>, transpose<0, 2, 1>, reshape<24>>, #attn.source<"b.{layer}" : 32, slice<dim = 0, 24 to 32>>]
// CHECK: attn.rope %{{.*}} interleaved heads 3
// REMARK: remark: [Passed] pair-channels | Category:fusion | Fused="channels that are rotated together are beside each other"
attn.parameter @qkv layers 2 : tensor<2x32x32xbf16> from concat<dim = 1> [#attn.source<"q.{layer}" : 16x32, transpose<1, 0>>, #attn.source<"kv.{layer}" : 16x32, transpose<1, 0>>]
attn.parameter @bias layers 2 : tensor<2x32xbf16> from [#attn.source<"b.{layer}">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, g, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, g, v)>
func.func @cached(%x: tensor<?x32xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %layer: index, %cache: !attn.kv_cache<2 x 1 x 8, block = 64, bf16>, %rows: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>, %scale: f32) -> (tensor<?x1x2x8xbf16>, !attn.kv_cache<2 x 1 x 8, block = 64, bf16>) {
  %w = attn.parameter_slice @qkv[%layer] : tensor<32x32xbf16>
  %b = attn.parameter_slice @bias[%layer] : tensor<32xbf16>
  %y = attn.linear %x, %w, (%b) : tensor<?x32xbf16>, tensor<32x32xbf16>, (tensor<32xbf16>) -> tensor<?x32xbf16> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %all = attn.split_heads %y : tensor<?x32xbf16> -> tensor<?x4x8xbf16>
  %rotated = attn.rope %all, %c, %s heads 3 : tensor<?x4x8xbf16>, tensor<?x4xf32>
  %columns = attn.merge_heads %rotated : tensor<?x4x8xbf16> -> tensor<?x32xbf16>
  %q, %k, %v = attn.split_heads %columns : tensor<?x32xbf16> -> tensor<?x1x2x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>
  %new = attn.kv_append %cache[%layer], %k, %v rows(%rows, %past, %table) : !attn.kv_cache<2 x 1 x 8, block = 64, bf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%layer], %table : !attn.kv_cache<2 x 1 x 8, block = 64, bf16>, tensor<?x?xi32> -> tensor<?x?x1x8xbf16>, tensor<?x?x1x8xbf16>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%rows : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x1x2x8xbf16>, tensor<?x?x1x8xbf16>, tensor<?x?x1x8xbf16> -> tensor<?x1x2x8xbf16>
  return %o, %new : tensor<?x1x2x8xbf16>, !attn.kv_cache<2 x 1 x 8, block = 64, bf16>
}

// -----

// Without a cache, queries and keys of two matmuls whose weights are [columns, rows].
// CHECK: attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q" : 16x32, reshape<2x2x4x32>, transpose<0, 2, 1, 3>, reshape<16x32>>]
// CHECK: attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k" : 16x32, reshape<2x2x4x32>, transpose<0, 2, 1, 3>, reshape<16x32>>]
// CHECK-COUNT-2: attn.rope %{{.*}} interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
func.func @rows(%x: tensor<?x32xbf16>, %v: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %rows: tensor<?xi32>, %scale: f32) -> tensor<?x2x8xbf16> {
  %wq = attn.parameter_slice @q : tensor<16x32xbf16>
  %wk = attn.parameter_slice @k : tensor<16x32xbf16>
  %0 = attn.linear %x, %wq transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %2 = attn.linear %x, %wk transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %3 = attn.split_heads %2 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %k = attn.rope %3, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %o = attn.attention %q, %k, %v, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x8xbf16>
  return %o : tensor<?x2x8xbf16>
}

// -----

// Keys that are not rotated have their order, so the queries keep theirs.
// CHECK-LABEL: func.func @keys
// CHECK-NOT: interleaved
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="queries and keys of an attention are not rotated alike"
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
func.func @keys(%x: tensor<?x32xbf16>, %k: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %rows: tensor<?xi32>, %scale: f32) -> tensor<?x2x8xbf16> {
  %w = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %o = attn.attention %q, %k, %k, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x8xbf16>
  return %o : tensor<?x2x8xbf16>
}

// -----

// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="another op than attention reads its heads"
// CHECK-LABEL: func.func @returned
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
func.func @returned(%x: tensor<?x32xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x2x8xbf16> {
  %w = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  return %q : tensor<?x2x8xbf16>
}

// -----

// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="it rotates a part of each head"
// CHECK-LABEL: func.func @part
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
func.func @part(%x: tensor<?x32xbf16>, %c: tensor<?x2xf32>, %s: tensor<?x2xf32>) -> tensor<?x2x8xbf16> {
  %w = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x2xf32>
  return %q : tensor<?x2x8xbf16>
}

// -----

// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="its weight is no parameter of whole heads"
// CHECK-LABEL: func.func @argument
// CHECK-NOT: interleaved
func.func @argument(%x: tensor<?x32xbf16>, %w: tensor<16x32xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x2x8xbf16> {
  %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  return %q : tensor<?x2x8xbf16>
}

// -----

// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="no matmul makes its heads"
// CHECK-LABEL: func.func @normed
// CHECK-NOT: interleaved
func.func @normed(%x: tensor<?x2x8xbf16>, %g: tensor<8xf32>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x2x8xbf16> {
  %0 = attn.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x2x8xbf16>, tensor<8xf32>
  %1 = attn.rope %0, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  return %1 : tensor<?x2x8xbf16>
}

// -----

// A residual of the epilogue has its own order.
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="its epilogue reads more than a bias"
// CHECK-LABEL: func.func @residual
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
func.func @residual(%x: tensor<?x32xbf16>, %r: tensor<?x16xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x2x8xbf16> {
  %w = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %w, (%r) transposed : tensor<?x32xbf16>, tensor<16x32xbf16>, (tensor<?x16xbf16>) -> tensor<?x16xbf16> {
  ^bb0(%sum: f32, %residual: f32):
    %y = arith.addf %sum, %residual : f32
    attn.yield %y : f32
  }
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  return %q : tensor<?x2x8xbf16>
}

// -----

// Another matmul reads the weight in its order.
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="another op reads its weight"
// CHECK-LABEL: func.func @shared
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
func.func @shared(%x: tensor<?x32xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %v: tensor<?x2x8xbf16>, %rows: tensor<?xi32>, %scale: f32) -> (tensor<?x2x8xbf16>, tensor<16x32xbf16>) {
  %w = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %o = attn.attention %q, %q, %v, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x8xbf16>
  %again = attn.parameter_slice @q : tensor<16x32xbf16>
  return %o, %again : tensor<?x2x8xbf16>, tensor<16x32xbf16>
}

// -----

// The keys of the cache are a result, which shows their order.
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="another op than attention reads keys of the cache"
// CHECK-LABEL: func.func @keys_of_cache
// CHECK-NOT: interleaved
attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k">]
func.func @keys_of_cache(%x: tensor<?x32xbf16>, %v: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %layer: index, %cache: !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, %rows: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>) -> tensor<?x?x2x8xbf16> {
  %wk = attn.parameter_slice @k : tensor<16x32xbf16>
  %2 = attn.linear %x, %wk transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %3 = attn.split_heads %2 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %k = attn.rope %3, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %new = attn.kv_append %cache[%layer], %k, %v rows(%rows, %past, %table) : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%layer], %table : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x?xi32> -> tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>
  return %keys : tensor<?x?x2x8xbf16>
}

// -----

// They are values as well.
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="another op than attention reads keys of the cache"
// CHECK-LABEL: func.func @values_of_cache
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
func.func @values_of_cache(%x: tensor<?x32xbf16>, %v: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %layer: index, %cache: !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, %rows: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>, %scale: f32) -> tensor<?x2x8xbf16> {
  %wq = attn.parameter_slice @q : tensor<16x32xbf16>
  %0 = attn.linear %x, %wq transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %q = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %wk = attn.parameter_slice @k : tensor<16x32xbf16>
  %2 = attn.linear %x, %wk transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %3 = attn.split_heads %2 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %k = attn.rope %3, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %new = attn.kv_append %cache[%layer], %k, %v rows(%rows, %past, %table) : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%layer], %table : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x?xi32> -> tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>
  %o = attn.attention %q, %keys, %keys, %scale q_begin(%rows : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16> -> tensor<?x2x8xbf16>
  return %o : tensor<?x2x8xbf16>
}

// -----

// Another function attends to them by queries that are not rotated.
// REMARK: remark: [Missed] pair-channels | Category:fusion | Reason="keys of the cache are read apart from those that are appended"
// CHECK-LABEL: func.func @other_function
// CHECK-NOT: interleaved
attn.parameter @q : tensor<16x32xbf16> from [#attn.source<"q">]
attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k">]
#query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
#key = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, d)>
#value = affine_map<(b, h, g, q, k, d, v) -> (b, k, h, v)>
#out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
func.func @other_function(%x: tensor<?x32xbf16>, %v: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %layer: index, %cache: !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, %rows: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>) -> !attn.kv_cache<2 x 2 x 8, block = 64, bf16> {
  %wk = attn.parameter_slice @k : tensor<16x32xbf16>
  %2 = attn.linear %x, %wk transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
  %3 = attn.split_heads %2 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
  %k = attn.rope %3, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %new = attn.kv_append %cache[%layer], %k, %v rows(%rows, %past, %table) : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %new : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>
}
func.func @attend(%q: tensor<?x2x8xbf16>, %layer: index, %cache: !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, %rows: tensor<?xi32>, %past: tensor<?xi32>,
                  %table: tensor<?x?xi32>, %scale: f32) -> tensor<?x2x8xbf16> {
  %keys, %values = attn.kv_view %cache[%layer], %table : !attn.kv_cache<2 x 2 x 8, block = 64, bf16>, tensor<?x?xi32> -> tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%rows : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#query, #key, #value, #out]
      : tensor<?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16> -> tensor<?x2x8xbf16>
  return %o : tensor<?x2x8xbf16>
}
