// RUN: rapt-opt %s --attn-select-activations=dtype=bf16 --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-select-activations=dtype=f32 --split-input-file | FileCheck %s --check-prefix=SAME
// RUN: not rapt-opt %s --attn-select-activations=dtype=f64 --split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG
// SAME-NOT: bf16
// WRONG: error: activations must be f32, bf16 or f16, found 'f64'

// A loop carries bf16, and a call passes it; a caller's arrays and a weight stay f32, and a matmul gives the output in f32.
// CHECK-LABEL: func.func private @block(%{{.*}}: tensor<?x64xbf16>, %{{.*}}: tensor<64x64xf32>) -> tensor<?x64xbf16>
func.func private @block(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.linear {{.*}} : tensor<?x64xbf16>, tensor<64x64xf32> -> tensor<?x64xbf16>
  // CHECK: arith.addf {{.*}} : tensor<?x64xbf16>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
// CHECK-LABEL: @entry
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32> {{.*}}, %[[W:.*]]: tensor<64x64xf32> {{.*}}) -> (tensor<?x64xf32> {attn.name = "y"}, tensor<?x64xf32> {attn.name = "z"})
func.func @entry(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y"}, tensor<?x64xf32> {attn.name = "z"}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: %[[IN:.*]] = arith.truncf %[[X]] : tensor<?x64xf32> to tensor<?x64xbf16>
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[IN]]) -> (tensor<?x64xbf16>)
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%carried = %x) -> (tensor<?x64xf32>) {
    // CHECK: func.call @block(%{{.*}}, %[[W]]) : (tensor<?x64xbf16>, tensor<64x64xf32>) -> tensor<?x64xbf16>
    %1 = func.call @block(%carried, %w) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    scf.yield %1 : tensor<?x64xf32>
  }
  // CHECK: %[[Y:.*]] = attn.linear %[[LOOP]], %[[W]] : tensor<?x64xbf16>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = attn.linear %0, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // A sum that is an output is rounded as every sum, and widened.
  // CHECK: %[[SUM:.*]] = arith.addf %[[LOOP]], %[[LOOP]] : tensor<?x64xbf16>
  // CHECK: %[[Z:.*]] = arith.extf %[[SUM]] : tensor<?x64xbf16> to tensor<?x64xf32>
  %z = arith.addf %0, %0 : tensor<?x64xf32>
  // CHECK: return %[[Y]], %[[Z]]
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Rows that are written are of the activation's type, and what they become is read as the caller gives it.
// CHECK-LABEL: func.func private @written(%{{.*}}: tensor<?x64xbf16>, %{{.*}}: tensor<?x2x64xf32>, %{{.*}}: tensor<?xi32>) -> tensor<?x64xbf16>
func.func private @written(%x: tensor<?x64xf32>, %v: tensor<?x2x64xf32>, %rows: tensor<?xi32>) -> tensor<?x64xf32> {
  %c1 = arith.constant 1 : index
  // CHECK: attn.write_rows add {{.*}} : tensor<?x64xbf16>, tensor<?x2x64xf32>, tensor<?xi32>
  %y = attn.write_rows add %x, %v[%c1], %rows : tensor<?x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>
  return %y : tensor<?x64xf32>
}
func.func @images(%ids: tensor<?xi32> {attn.name = "ids"}, %table: tensor<8x64xf32> {attn.name = "table"}, %v: tensor<?x2x64xf32> {attn.name = "v"}, %rows: tensor<?xi32> {attn.name = "rows"})
    -> (tensor<?x64xf32> {attn.name = "y"}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  // CHECK: attn.embedding {{.*}} -> tensor<?x64xbf16>
  %x = attn.embedding %ids, %table : tensor<?xi32>, tensor<8x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.write_rows set {{.*}} : tensor<?x64xbf16>, tensor<?x2x64xf32>, tensor<?xi32>
  %y = attn.write_rows set %x, %v[%c0], %rows : tensor<?x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>
  %z = func.call @written(%y, %v, %rows) : (tensor<?x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// Near misses: parameters, rotary tables, a state that is updated in place with what is selected from it, and extra operands of attention.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
attn.parameter @w : tensor<64x192xf32> from [#attn.source<"w">]
// CHECK-LABEL: @kept
func.func @kept(%ids: tensor<?xi32>, %table: tensor<8x192xf32>, %begin: tensor<?xi32>, %state: tensor<?x64xf32>, %slots: tensor<?xi32>, %u: tensor<64x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x2x32xf32>) attributes {attn.entry} {
  // CHECK: attn.embedding {{.*}} -> tensor<?x192xbf16>
  %gates = attn.embedding %ids, %table : tensor<?xi32>, tensor<8x192xf32> -> tensor<?x192xf32>
  // CHECK: attn.parameter_slice @w : tensor<64x192xf32>
  %w = attn.parameter_slice @w : tensor<64x192xf32>
  // CHECK: attn.select_rows {{.*}} -> tensor<?x64xf32>
  %h = attn.select_rows %state, %slots : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  // CHECK: %[[Y:.*]], %[[LAST:.*]] = attn.recurrence gru {{.*}} : tensor<?x192xbf16>, tensor<64x192xf32>, tensor<?xi32>, tensor<?x64xf32>
  %y, %last = attn.recurrence gru %gates, %w rows(%begin) init(%h) : tensor<?x192xf32>, tensor<64x192xf32>, tensor<?xi32>, tensor<?x64xf32>
  // CHECK: attn.update_rows %{{.*}}, %[[LAST]], {{.*}} : tensor<?x64xf32>, tensor<?x64xf32>
  %new = attn.update_rows %state, %last, %slots : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xi32>
  %heads = attn.split_heads %y : tensor<?x64xf32> -> tensor<?x2x32xf32>
  // CHECK: attn.rotary_table {{.*}} -> tensor<?x16xf32>
  %cos, %sin = attn.rotary_table %ids frequencies [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04] : tensor<?xi32> -> tensor<?x16xf32>
  // CHECK: attn.rope {{.*}} : tensor<?x2x32xbf16>, tensor<?x16xf32>
  %q = attn.rope %heads, %cos, %sin : tensor<?x2x32xf32>, tensor<?x16xf32>
  // CHECK: attn.linear {{.*}} -> tensor<?x64xf32>
  %bias = attn.linear %y, %u : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %scale = arith.constant 1.0 : f32
  // CHECK: attn.attention {{.*}} : tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16> -> tensor<?x2x32xf32>
  %o = attn.attention %q, %q, %heads, %scale extras(%bias : tensor<?x64xf32>) maps [#q, #k, #v, #o, #e] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    score {
    ^bb0(%s: f32, %b: index, %head: index, %i: index, %j: index, %x: f32):
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
  return %new, %o : tensor<?x64xf32>, tensor<?x2x32xf32>
}

// -----

// An op of another dialect without interfaces of attn computes in the type that its text says.
// CHECK-LABEL: @upstream
func.func @upstream(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y"}) attributes {attn.entry} {
  // CHECK: %[[A:.*]] = attn.linear {{.*}} -> tensor<?x64xf32>
  %a = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: %[[B:.*]] = math.floor %[[A]] : tensor<?x64xf32>
  %b = math.floor %a : tensor<?x64xf32>
  // CHECK: %[[C:.*]] = attn.linear %[[B]], {{.*}} -> tensor<?x64xbf16>
  %c = attn.linear %b, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear %[[C]], {{.*}} : tensor<?x64xbf16>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = attn.linear %c, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Arithmetic with attn's interfaces has the type of its operands. A cast takes what its text says.
// CHECK-LABEL: @arithmetic
func.func @arithmetic(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y"}, tensor<?x64xf16> {attn.name = "z"}) attributes {attn.entry} {
  // CHECK: %[[A:.*]] = attn.linear {{.*}} -> tensor<?x64xbf16>
  %a = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: %[[B:.*]] = math.sqrt %[[A]] : tensor<?x64xbf16>
  %b = math.sqrt %a : tensor<?x64xf32>
  // CHECK: %[[WIDE:.*]] = arith.extf %[[B]] : tensor<?x64xbf16> to tensor<?x64xf32>
  // CHECK: %[[Z:.*]] = arith.truncf %[[WIDE]] : tensor<?x64xf32> to tensor<?x64xf16>
  %z = arith.truncf %b : tensor<?x64xf32> to tensor<?x64xf16>
  // CHECK: %[[C:.*]] = arith.mulf %[[B]], %[[B]] : tensor<?x64xbf16>
  // CHECK: %[[Y:.*]] = arith.extf %[[C]]
  // CHECK: return %[[Y]], %[[Z]]
  %y = arith.mulf %b, %b : tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf16>
}

// -----

// A rotary table stays f32 and is cast where it meets an activation; a weight that a matmul computes stays f32.
// CHECK-LABEL: func.func @table
// CHECK: %[[COS:.*]], %{{.*}} = attn.rotary_table {{.*}} -> tensor<?x8xf32>
// CHECK: %[[A:.*]] = attn.linear {{.*}} -> tensor<?x8xbf16>
// CHECK: %[[CAST:.*]] = arith.truncf %[[COS]] : tensor<?x8xf32> to tensor<?x8xbf16>
// CHECK: arith.mulf %[[A]], %[[CAST]] : tensor<?x8xbf16>
func.func @table(%x: tensor<?x8xf32> {attn.name = "x"}, %w: tensor<8x8xf32>, %p: tensor<?xi32>) -> tensor<?x8xf32> attributes {attn.entry} {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001] : tensor<?xi32> -> tensor<?x8xf32>
  %a = attn.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %b = arith.mulf %a, %cos : tensor<?x8xf32>
  %d = attn.linear %b, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %d : tensor<?x8xf32>
}
// CHECK-LABEL: func.func @weight
// CHECK: %[[W:.*]] = attn.linear {{.*}} -> tensor<32x32xf32>
// CHECK: attn.linear %{{.*}}, %[[W]] : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xbf16>
func.func @weight(%x: tensor<32x32xf32> {attn.name = "x"}, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {attn.entry} {
  %a = attn.linear %x, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %b = attn.linear %x, %a : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %c = attn.linear %b, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}

// -----

// Cosines and sines that an op of another dialect makes stay f32 in a block, as those of a rotary table do; near miss: what else a block takes of
// such an op is an activation.
// CHECK-LABEL: func.func private @turn
// CHECK-SAME: (%{{.*}}: tensor<?x2x32xbf16>, %{{.*}}: tensor<?x16xf32>, %{{.*}}: tensor<?x16xf32>) -> tensor<?x2x32xbf16>
func.func private @turn(%x: tensor<?x2x32xf32>, %cos: tensor<?x16xf32>, %sin: tensor<?x16xf32>) -> tensor<?x2x32xf32> {
  // CHECK: attn.rope {{.*}} : tensor<?x2x32xbf16>, tensor<?x16xf32>
  %y = attn.rope %x, %cos, %sin : tensor<?x2x32xf32>, tensor<?x16xf32>
  return %y : tensor<?x2x32xf32>
}
// CHECK-LABEL: func.func private @square(%{{.*}}: tensor<?x16xbf16>) -> tensor<?x16xbf16>
func.func private @square(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = arith.mulf %x, %x : tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
// CHECK-LABEL: func.func @angles
func.func @angles(%x: tensor<?x2x32xf32> {attn.name = "x"}, %p: tensor<?xi32>, %a: tensor<?x16xf32>) -> (tensor<?x2x32xf32> {attn.name = "y"}, tensor<?x16xf32> {attn.name = "z"}) attributes {attn.entry} {
  // CHECK: %[[COS:.*]] = linalg.abs {{.*}} -> tensor<?x16xf32>
  %cos = linalg.abs ins(%a : tensor<?x16xf32>) outs(%a : tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: call @turn(%{{.*}}, %[[COS]], %[[COS]])
  %0 = func.call @turn(%x, %cos, %cos) : (tensor<?x2x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x2x32xf32>
  // CHECK: %[[C:.*]], %[[S:.*]] = attn.rotary_table
  %c, %s = attn.rotary_table %p frequencies [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04] : tensor<?xi32> -> tensor<?x16xf32>
  // CHECK: call @turn(%{{.*}}, %[[C]], %[[S]])
  %y = func.call @turn(%0, %c, %s) : (tensor<?x2x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x2x32xf32>
  // CHECK: %[[IN:.*]] = arith.truncf %[[COS]]
  // CHECK: call @square(%[[IN]])
  %z = func.call @square(%cos) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y, %z : tensor<?x2x32xf32>, tensor<?x16xf32>
}

// -----

// A function may give back what an op of another dialect makes, in the type that its text says.
// CHECK-LABEL: func.func private @made(%{{.*}}: tensor<?x64xf32>) -> tensor<?x64xf32>
func.func private @made(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = math.floor %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// CHECK-LABEL: func.func @given
func.func @given(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32>) -> (tensor<?x64xf32> {attn.name = "y"}) attributes {attn.entry} {
  // CHECK: %[[Y:.*]] = call @made(%{{.*}}) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  // CHECK: attn.linear %[[Y]], {{.*}} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xbf16>
  %y = func.call @made(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %z = attn.linear %y, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %u = attn.linear %z, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %u : tensor<?x64xf32>
}
