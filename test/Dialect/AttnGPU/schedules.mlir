// RUN: rapt-opt %s --split-input-file --mlir-print-local-scope | rapt-opt --split-input-file --mlir-print-local-scope | FileCheck %s
// RUN: rapt-opt %s --split-input-file | FileCheck %s --check-prefix=ALIAS

// What has its usual value is left out. Text names a schedule once.
// ALIAS: #schedule = #attn_gpu.linear_schedule<
// CHECK-LABEL: func.func @matmul
// CHECK: {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>}
// CHECK: {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, few_rows = <tiles = <rows = 16, columns = 16, depth = 256, warps = 4, stages = 5, parts = 4>>, many_rows = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 6, matmul = wgmma, blocks = 132>, least = 512, group = 12>, most_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, least = 1024, group = 16, share = 88>, rotates = true>}
func.func @matmul(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) {
  %0 = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, matmul = mma, parts = 1, blocks = 0>, least = 0>, rotates = false>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  %1 = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>,
      few_rows = <tiles = <rows = 16, columns = 16, depth = 256, warps = 4, stages = 5, parts = 4>>,
      many_rows = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 6, matmul = wgmma, blocks = 132>, least = 512, group = 12>,
      most_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, share = 88, group = 16, least = 1024>, rotates = true>}
      : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// ALIAS: #schedule = #attn.attention_tiles<
// ALIAS: #schedule1 = #attn_gpu.attention_schedule<
// CHECK-LABEL: func.func @attention
// CHECK: {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 32, warps = 2, matmul = tf32>, blocks = 264, least_keys = 256>}
func.func @attention(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
  %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 32, warps = 2, matmul = tf32>, blocks = 264, least_keys = 256>}
      : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
  return %o : tensor<?x12x64xf32>
}

// -----

// ALIAS: attn_gpu.schedule = #attn_gpu.norm_tiles<
// CHECK-LABEL: func.func @norm
// CHECK: {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>}
func.func @norm(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}

// -----

// What the recurrent form does not need is left out.
// ALIAS: attn_gpu.schedule = #attn_gpu.linear_attention_tiles<
// CHECK-LABEL: func.func @linear_attention
// CHECK: {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 16, warps = 4>}
// CHECK: {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 24, matmul = tf32>}
func.func @linear_attention(%q: tensor<?x2x8xf32>, %begin: tensor<?xi32>) {
  %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 16, warps = 4, chunk = 0, least = 0, matmul = fma>} : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  %1 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 24, matmul = tf32>} : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>
  return
}
