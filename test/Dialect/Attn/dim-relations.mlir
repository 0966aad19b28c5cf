// RUN: rapt-opt --resolve-ranked-shaped-type-result-dims --cse %s | FileCheck %s

// Every op with tensors gives the extents of its results in terms of its operands: none is asked of the result itself.

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv, hkv)>
#r = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// CHECK-LABEL: @split_heads
// CHECK-SAME: %[[X:.*]]: tensor<?x96xf32>
func.func @split_heads(%x: tensor<?x96xf32>) -> index {
  %c0 = arith.constant 0 : index
  %a, %b = attn.split_heads %x : tensor<?x96xf32> -> tensor<?x1x32xf32>, tensor<?x2x32xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[X]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %b, %c0 : tensor<?x2x32xf32>
  return %d : index
}

// CHECK-LABEL: @merge_heads
// CHECK-SAME: %[[X:.*]]: tensor<?x2x32xf32>
func.func @merge_heads(%x: tensor<?x2x32xf32>) -> index {
  %c0 = arith.constant 0 : index
  %y = attn.merge_heads %x : tensor<?x2x32xf32> -> tensor<?x64xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[X]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?x64xf32>
  return %d : index
}

// Each iteration dim has the extent of the first operand whose map has it.
// CHECK-LABEL: @attention
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?xf32>, %{{.*}}: tensor<?x?x?x?xf32>, %[[V:.*]]: tensor<?x?x?x?xf32>, %{{.*}}: tensor<?xi32>
func.func @attention(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?x?xf32>, %v: tensor<?x?x?x?xf32>, %begin: tensor<?xi32>, %scale: f32) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o]
    : tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[V]], %c3
  // CHECK-DAG: %[[D2:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: return %[[D0]], %[[D1]], %[[D2]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %y, %c2 : tensor<?x?x?xf32>
  return %d0, %d1, %d2 : index, index, index
}

// Log-sum-exp has the dims of the result but dv, which stands between them here.
// CHECK-LABEL: @log_sum_exp
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x?x?xf32>
func.func @log_sum_exp(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?x?xf32>, %v: tensor<?x?x?x?xf32>, %begin: tensor<?xi32>, %scale: f32) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %lse = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) log_sum_exp maps [#q, #k, #v, #o]
    : tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %lse, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %lse, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @attention_weights
// CHECK-SAME: %[[W:.*]]: tensor<?x6x2x512xf32>
func.func @attention_weights(%w: tensor<?x6x2x512xf32>, %q: tensor<?x2x64xf32>, %k: tensor<?x?x2x64xf32>, %rows: tensor<?xi32>, %layer: index, %scale: f32) -> index {
  %c0 = arith.constant 0 : index
  %o, %y = attn.attention %q, %k, %k, %scale q_begin(%rows : tensor<?xi32>) weights(%w[%layer] heads [0, 1] : tensor<?x6x2x512xf32>) maps [#q, #k, #v, #r]
    : tensor<?x2x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32> -> tensor<?x2x64xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[W]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?x6x2x512xf32>
  return %d : index
}

// CHECK-LABEL: @attention_state
// CHECK-SAME: %[[ACC:[a-z0-9]+]]: tensor<?x64xf32>, %[[M:[a-z0-9]+]]: tensor<?xf32>, %[[L:[a-z0-9]+]]: tensor<?xf32>
func.func @attention_state(%acc: tensor<?x64xf32>, %m: tensor<?xf32>, %l: tensor<?xf32>, %q: tensor<?x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %s: f32, %i: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %l)
    : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[ACC]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[M]], %c0
  // CHECK-DAG: %[[D2:.*]] = tensor.dim %[[L]], %c0
  // CHECK: return %[[D0]], %[[D1]], %[[D2]]
  %d0 = tensor.dim %0#0, %c0 : tensor<?x64xf32>
  %d1 = tensor.dim %0#1, %c0 : tensor<?xf32>
  %d2 = tensor.dim %0#2, %c0 : tensor<?xf32>
  return %d0, %d1, %d2 : index, index, index
}

// CHECK-LABEL: @attention_merge
// CHECK-SAME: %[[ACC:[a-z0-9]+]]: tensor<?x64xf32>
func.func @attention_merge(%acc: tensor<?x64xf32>, %m: tensor<?xf32>, %l: tensor<?xf32>, %accs: tensor<4x?x64xf32>, %ms: tensor<4x?xf32>, %ls: tensor<4x?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %0:3 = attn.attention_merge %accs, %ms, %ls init(%acc, %m, %l)
    : tensor<4x?x64xf32>, tensor<4x?xf32>, tensor<4x?xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[ACC]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %0#0, %c0 : tensor<?x64xf32>
  return %d : index
}

// CHECK-LABEL: @embedding
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>, %[[TABLE:.*]]: tensor<50x?xf32>
func.func @embedding(%ids: tensor<?xi32>, %table: tensor<50x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.embedding %ids, %table : tensor<?xi32>, tensor<50x?xf32> -> tensor<?x?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[TABLE]], %c1
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @select_rows
// CHECK-SAME: %[[X:.*]]: tensor<?x2x?xf32>, %[[ROWS:.*]]: tensor<?xi32>
func.func @select_rows(%x: tensor<?x2x?xf32>, %rows: tensor<?xi32>, %layer: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.select_rows %x[%layer], %rows : tensor<?x2x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[ROWS]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[X]], %c2
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @write_rows
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>
func.func @write_rows(%x: tensor<?x?xf32>, %v: tensor<?x2x?xf32>, %layer: index, %rows: tensor<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.write_rows add %x, %v[%layer], %rows : tensor<?x?xf32>, tensor<?x2x?xf32>, tensor<?xi32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[X]], %c1
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @column
// CHECK-SAME: %[[X:.*]]: tensor<?x2xf32>
func.func @column(%x: tensor<?x2xf32>) -> index {
  %c0 = arith.constant 0 : index
  %y = attn.column %x[1] : tensor<?x2xf32> -> tensor<?xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[X]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?xf32>
  return %d : index
}

// CHECK-LABEL: @linear
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %[[W:.*]]: tensor<?x?xf32>
func.func @linear(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.linear %x, %w transposed : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[W]], %c0
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// One op's result is the next one's operand: dims go all the way.
// CHECK-LABEL: @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @elementwise(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %head: tensor<32xf32>, %cos: tensor<?x16xf32>) -> index {
  %c0 = arith.constant 0 : index
  %1 = attn.activation gelu %x : tensor<?x64xf32>
  %2 = attn.glu silu %1, %x : tensor<?x64xf32>
  %cast = arith.truncf %2 : tensor<?x64xf32> to tensor<?x64xbf16>
  %wide = arith.extf %cast : tensor<?x64xbf16> to tensor<?x64xf32>
  %3 = arith.addf %wide, %x : tensor<?x64xf32>
  %4 = attn.layer_norm %3, %w, %w epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %5 = attn.rms_norm %4, %w epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %6 = attn.split_heads %5 : tensor<?x64xf32> -> tensor<?x2x32xf32>
  %7 = attn.rope %6, %cos, %cos : tensor<?x2x32xf32>, tensor<?x16xf32>
  %norm = attn.rms_norm %7, %head epsilon 1.0e-5 : tensor<?x2x32xf32>, tensor<32xf32>
  %heads = attn.layer_norm %norm, %head, %head epsilon 1.0e-5 : tensor<?x2x32xf32>, tensor<32xf32>
  %8 = attn.merge_heads %heads : tensor<?x2x32xf32> -> tensor<?x64xf32>
  %9 = attn.quantize_rows %8 : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  // CHECK: %[[D:.*]] = tensor.dim %[[X]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %9, %c0 : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  return %d : index
}

// CHECK-LABEL: @patches
// CHECK-SAME: %[[X:.*]]: tensor<?x3x?x224xf32>
func.func @patches(%x: tensor<?x3x?x224xf32>) -> index {
  %c0 = arith.constant 0 : index
  %y = attn.patches %x size 16 : tensor<?x3x?x224xf32> -> tensor<?x768xf32>
  // CHECK-DAG: %[[IMAGES:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[HEIGHT:.*]] = tensor.dim %[[X]], %c2
  // CHECK: %[[DOWN:.*]] = arith.divui %[[HEIGHT]], %c16
  // CHECK: %[[COLUMNS:.*]] = arith.muli %[[IMAGES]], %[[DOWN]]
  // CHECK: %[[D:.*]] = arith.muli %[[COLUMNS]], %c14
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?x768xf32>
  return %d : index
}

// CHECK-LABEL: @resize_positions
// CHECK-SAME: %[[H:[a-z0-9]+]]: index, %[[W:[a-z0-9]+]]: index
func.func @resize_positions(%h: index, %w: index, %table: tensor<17x64xf32>) -> index {
  %c0 = arith.constant 0 : index
  %y = attn.resize_positions %table, %h, %w grid [4, 4] : tensor<17x64xf32> -> tensor<?x64xf32>
  // CHECK: %[[PATCHES:.*]] = arith.muli %[[H]], %[[W]]
  // CHECK: %[[D:.*]] = arith.addi %[[PATCHES]], %c1
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?x64xf32>
  return %d : index
}

// CHECK-LABEL: @image_tokens
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[P:[a-z0-9]+]]: tensor<?x64xf32>
func.func @image_tokens(%x: tensor<?x64xf32>, %p: tensor<?x64xf32>, %class: tensor<1x64xf32>) -> index {
  %c0 = arith.constant 0 : index
  %y = attn.image_tokens %x, %class, %p : tensor<?x64xf32>, tensor<1x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK-DAG: %[[PATCHES:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[TOKENS:.*]] = tensor.dim %[[P]], %c0
  // CHECK: %[[OF_AN_IMAGE:.*]] = arith.addi %[[TOKENS]], %c-1
  // CHECK: %[[IMAGES:.*]] = arith.divui %[[PATCHES]], %[[OF_AN_IMAGE]]
  // CHECK: %[[D:.*]] = arith.muli %[[IMAGES]], %[[TOKENS]]
  // CHECK: return %[[D]]
  %d = tensor.dim %y, %c0 : tensor<?x64xf32>
  return %d : index
}

// CHECK-LABEL: @equal_rows
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: index, %[[LENGTH:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: tensor<?x64xf32>
func.func @equal_rows(%rows: index, %length: index, %x: tensor<?x64xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %begin = attn.equal_rows %rows, %length : tensor<?xi32>
  %y = attn.unpack_rows %x, %length : tensor<?x64xf32> -> tensor<?x?x64xf32>
  // CHECK: %[[D0:.*]] = arith.addi %[[ROWS]], %c1
  // CHECK: %[[TOKENS:.*]] = tensor.dim %[[X]], %c0
  // CHECK: %[[D1:.*]] = arith.divui %[[TOKENS]], %[[LENGTH]]
  // CHECK: return %[[D0]], %[[D1]], %[[LENGTH]]
  %d0 = tensor.dim %begin, %c0 : tensor<?xi32>
  %d1 = tensor.dim %y, %c0 : tensor<?x?x64xf32>
  %d2 = tensor.dim %y, %c1 : tensor<?x?x64xf32>
  return %d0, %d1, %d2 : index, index, index
}

// CHECK-LABEL: @kv_view
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<?x?xi32>
func.func @kv_view(%table: tensor<?x?xi32>, %cache: !attn.kv_cache<12 x 2 x 64, block = 64, f32>, %layer: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k, %v = attn.kv_view %cache[%layer], %table : !attn.kv_cache<12 x 2 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x2x64xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[TABLE]], %c0
  // CHECK-DAG: %[[BLOCKS:.*]] = tensor.dim %[[TABLE]], %c1
  // CHECK: %[[D1:.*]] = arith.muli %[[BLOCKS]], %c64
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %v, %c0 : tensor<?x?x2x64xf32>
  %d1 = tensor.dim %k, %c1 : tensor<?x?x2x64xf32>
  return %d0, %d1 : index, index
}

// Memory of a cache tells the positions of its blocks by its layout.
// CHECK-LABEL: @kv_view_memory
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<?x?xi32>
func.func @kv_view_memory(%table: tensor<?x?xi32>, %cache: tensor<?x1x2x2x48x64xf32>, %layer: index) -> index {
  %c1 = arith.constant 1 : index
  %k, %v = attn.kv_view %cache[%layer], %table {layout = #attn.cache_rows<positions = 48, keys = 64, values = 64>}
    : tensor<?x1x2x2x48x64xf32>, tensor<?x?xi32> -> tensor<?x?x2x64xf32>
  // CHECK: %[[BLOCKS:.*]] = tensor.dim %[[TABLE]], %c1
  // CHECK: %[[D1:.*]] = arith.muli %[[BLOCKS]], %c48
  // CHECK: return %[[D1]]
  %d1 = tensor.dim %k, %c1 : tensor<?x?x2x64xf32>
  return %d1 : index
}

// CHECK-LABEL: @kv_append
// CHECK-SAME: %[[CACHE:[a-z0-9]+]]: tensor<?x1x2x2x64x64xf32>
func.func @kv_append(%cache: tensor<?x1x2x2x64x64xf32>, %x: tensor<?x2x64xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>, %layer: index) -> index {
  %c0 = arith.constant 0 : index
  %new = attn.kv_append %cache[%layer], %x, %x rows(%begin, %past, %table) {layout = #attn.cache_rows<positions = 64, keys = 64, values = 64>}
    : tensor<?x1x2x2x64x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  // CHECK: %[[D:.*]] = tensor.dim %[[CACHE]], %c0
  // CHECK: return %[[D]]
  %d = tensor.dim %new, %c0 : tensor<?x1x2x2x64x64xf32>
  return %d : index
}

// CHECK-LABEL: @pool_rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>, %[[BEGIN:[a-z0-9]+]]: tensor<?xi32>
func.func @pool_rows(%x: tensor<?x?xf32>, %begin: tensor<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.pool_rows mean %x, %begin : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  // CHECK: %[[OFFSETS:.*]] = tensor.dim %[[BEGIN]], %c0
  // CHECK: %[[D0:.*]] = arith.addi %[[OFFSETS]], %c-1
  // CHECK: %[[D1:.*]] = tensor.dim %[[X]], %c1
  // CHECK: return %[[D0]], %[[D1]]
  %d0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @positions
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<?xi32>
func.func @positions(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %p = attn.positions %tokens, %begin : tensor<?xi32>, tensor<?xi32>
  %x = attn.sinusoids %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
  // CHECK: %[[D:.*]] = tensor.dim %[[TOKENS]], %c0
  // CHECK: return %[[D]], %[[D]]
  %d0 = tensor.dim %x, %c0 : tensor<?x2xf32>
  %d1 = tensor.dim %sin, %c0 : tensor<?x2xf32>
  return %d0, %d1 : index, index
}

// CHECK-LABEL: @recurrence
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xf32>, %[[BEGIN:[a-z0-9]+]]: tensor<?xi32>, %[[STATE:[a-z0-9]+]]: tensor<?x32xf32>
func.func @recurrence(%x: tensor<?x128xf32>, %begin: tensor<?xi32>, %state: tensor<?x32xf32>, %w: tensor<32x128xf32>, %slots: tensor<?xi32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x128xf32>, tensor<32x128xf32>, tensor<?xi32>
  %new = attn.update_rows %state, %last#1, %slots : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>
  %both = attn.concat %y, %y : tensor<?x32xf32>, tensor<?x32xf32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[OFFSETS:.*]] = tensor.dim %[[BEGIN]], %c0
  // CHECK-DAG: %[[D1:.*]] = arith.addi %[[OFFSETS]], %c-1
  // CHECK-DAG: %[[D2:.*]] = tensor.dim %[[STATE]], %c0
  // CHECK: return %[[D0]], %[[D1]], %[[D2]], %[[D0]]
  %d0 = tensor.dim %y, %c0 : tensor<?x32xf32>
  %d1 = tensor.dim %last#1, %c0 : tensor<?x32xf32>
  %d2 = tensor.dim %new, %c0 : tensor<?x32xf32>
  %d3 = tensor.dim %both, %c0 : tensor<?x64xf32>
  return %d0, %d1, %d2, %d3 : index, index, index, index
}

// CHECK-LABEL: @experts
// CHECK-SAME: %[[LOGITS:.*]]: tensor<?x8xf32>, %[[X:.*]]: tensor<?x32xf32>
func.func @experts(%logits: tensor<?x8xf32>, %x: tensor<?x32xf32>, %w: tensor<32x512xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %weights, %experts = attn.route softmax %logits of 8 : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %indices, %groups = attn.group_rows %experts : tensor<?x2xi32> -> tensor<?xi32>, tensor<?x2xi32>, tensor<9x2xi32>
  %of = attn.select_rows %x, %rows : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %y = attn.linear %of, %w groups %groups : tensor<?x32xf32>, tensor<32x512xf32> groups tensor<9x2xi32> -> tensor<?x64xf32>
  %sum = attn.combine_rows %y, %weights, %indices : tensor<?x64xf32>, tensor<?x2xf32>, tensor<?x2xi32> -> tensor<?x64xf32>
  %clipped = attn.clip %sum within 2.0 : tensor<?x64xf32>
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[LOGITS]], %c0
  // CHECK-DAG: %[[P:.*]] = arith.muli %[[T]], %c2
  // CHECK: return %[[T]], %[[P]], %[[P]], %[[T]]
  %d0 = tensor.dim %experts, %c0 : tensor<?x2xi32>
  %d1 = tensor.dim %rows, %c0 : tensor<?xi32>
  %d2 = tensor.dim %y, %c0 : tensor<?x64xf32>
  %d3 = tensor.dim %clipped, %c0 : tensor<?x64xf32>
  return %d0, %d1, %d2, %d3 : index, index, index, index
}

// CHECK-LABEL: @states
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x2x8xf32>, %[[V:[a-z0-9]+]]: tensor<?x4x16xf32>, %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[MATRICES:[a-z0-9]+]]: tensor<?x4x8x16xf32>, %[[INPUTS:[a-z0-9]+]]: tensor<?x3x8xf32>
func.func @states(%q: tensor<?x2x8xf32>, %v: tensor<?x4x16xf32>, %x: tensor<?x8xf32>, %matrices: tensor<?x4x8x16xf32>, %inputs: tensor<?x3x8xf32>, %w: tensor<4x8xf32>, %begin: tensor<?xi32>, %slots: tensor<?xi32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %y, %new = attn.linear_attention linear %q, %q, %v rows(%begin) state(%matrices : tensor<?x4x8x16xf32>) slots(%slots : tensor<?xi32>, %slots : tensor<?xi32>) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x4x16xf32>, tensor<?xi32>
  %z, %last = attn.short_conv %x, %w rows(%begin) state(%inputs : tensor<?x3x8xf32>) : tensor<?x8xf32>, tensor<4x8xf32>, tensor<?xi32>
  // CHECK-DAG: %[[D0:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[D1:.*]] = tensor.dim %[[MATRICES]], %c0
  // CHECK-DAG: %[[D2:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[D3:.*]] = tensor.dim %[[INPUTS]], %c0
  // CHECK: return %[[D0]], %[[D1]], %[[D2]], %[[D3]]
  %d0 = tensor.dim %y, %c0 : tensor<?x4x16xf32>
  %d1 = tensor.dim %new, %c0 : tensor<?x4x8x16xf32>
  %d2 = tensor.dim %z, %c0 : tensor<?x8xf32>
  %d3 = tensor.dim %last, %c0 : tensor<?x3x8xf32>
  return %d0, %d1, %d2, %d3 : index, index, index, index
}
