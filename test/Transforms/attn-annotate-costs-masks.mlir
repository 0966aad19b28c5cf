// RUN: rapt-opt %s --attn-annotate-costs --split-input-file | FileCheck %s

// The bounds of a mask are exact for large constants, and unknown where they are so large that sums might overflow.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
// CHECK-LABEL: func.func @window
// CHECK-SAME: kind = "pairs", lower = -4294967295 : i64, name = "count0", queries = "row_begin", upper = 2147483648 : i64}
func.func @window(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %q, %q, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#q, #v, #w, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %window = arith.constant 4294967296 : index
      %more = arith.constant 2147483647 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %window : index
      %end = arith.addi %i, %more : index
      %before = arith.cmpi sle, %j, %end : index
      %keep = arith.andi %near, %before : i1
      attn.yield %keep : i1
    }
  return %y : tensor<?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
// CHECK-LABEL: func.func @widest
// CHECK-SAME: kind = "pairs", name = "count0", queries = "row_begin"}
func.func @widest(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %q, %q, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#q, #v, #w, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %window = arith.constant 9223372036854775807 : index
      %d = arith.subi %i, %j : index
      %keep = arith.cmpi slt, %d, %window : index
      attn.yield %keep : i1
    }
  return %y : tensor<?x4x32xf32>
}

// -----

// A value that is used twice is read once: 40 of them in turn have 2^40 uses.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#w = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @tokens min 1 max 64
attn.dim @rows min 1 max 8
// CHECK-LABEL: func.func @doubled
// CHECK-SAME: kind = "pairs", name = "count0", queries = "row_begin", upper = 1 : i64}
func.func @doubled(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %q, %q, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#q, #v, #w, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %s0 = arith.addi %j, %j : index
      %s1 = arith.addi %s0, %s0 : index
      %s2 = arith.addi %s1, %s1 : index
      %s3 = arith.addi %s2, %s2 : index
      %s4 = arith.addi %s3, %s3 : index
      %s5 = arith.addi %s4, %s4 : index
      %s6 = arith.addi %s5, %s5 : index
      %s7 = arith.addi %s6, %s6 : index
      %s8 = arith.addi %s7, %s7 : index
      %s9 = arith.addi %s8, %s8 : index
      %s10 = arith.addi %s9, %s9 : index
      %s11 = arith.addi %s10, %s10 : index
      %s12 = arith.addi %s11, %s11 : index
      %s13 = arith.addi %s12, %s12 : index
      %s14 = arith.addi %s13, %s13 : index
      %s15 = arith.addi %s14, %s14 : index
      %s16 = arith.addi %s15, %s15 : index
      %s17 = arith.addi %s16, %s16 : index
      %s18 = arith.addi %s17, %s17 : index
      %s19 = arith.addi %s18, %s18 : index
      %s20 = arith.addi %s19, %s19 : index
      %s21 = arith.addi %s20, %s20 : index
      %s22 = arith.addi %s21, %s21 : index
      %s23 = arith.addi %s22, %s22 : index
      %s24 = arith.addi %s23, %s23 : index
      %s25 = arith.addi %s24, %s24 : index
      %s26 = arith.addi %s25, %s25 : index
      %s27 = arith.addi %s26, %s26 : index
      %s28 = arith.addi %s27, %s27 : index
      %s29 = arith.addi %s28, %s28 : index
      %s30 = arith.addi %s29, %s29 : index
      %s31 = arith.addi %s30, %s30 : index
      %s32 = arith.addi %s31, %s31 : index
      %s33 = arith.addi %s32, %s32 : index
      %s34 = arith.addi %s33, %s33 : index
      %s35 = arith.addi %s34, %s34 : index
      %s36 = arith.addi %s35, %s35 : index
      %s37 = arith.addi %s36, %s36 : index
      %s38 = arith.addi %s37, %s37 : index
      %s39 = arith.addi %s38, %s38 : index
      %c0 = arith.cmpi sle, %s39, %i : index
      %c1 = arith.andi %c0, %c0 : i1
      %c2 = arith.andi %c1, %c1 : i1
      %c3 = arith.andi %c2, %c2 : i1
      %c4 = arith.andi %c3, %c3 : i1
      %c5 = arith.andi %c4, %c4 : i1
      %c6 = arith.andi %c5, %c5 : i1
      %c7 = arith.andi %c6, %c6 : i1
      %c8 = arith.andi %c7, %c7 : i1
      %c9 = arith.andi %c8, %c8 : i1
      %c10 = arith.andi %c9, %c9 : i1
      %c11 = arith.andi %c10, %c10 : i1
      %c12 = arith.andi %c11, %c11 : i1
      %c13 = arith.andi %c12, %c12 : i1
      %c14 = arith.andi %c13, %c13 : i1
      %c15 = arith.andi %c14, %c14 : i1
      %c16 = arith.andi %c15, %c15 : i1
      %c17 = arith.andi %c16, %c16 : i1
      %c18 = arith.andi %c17, %c17 : i1
      %c19 = arith.andi %c18, %c18 : i1
      %c20 = arith.andi %c19, %c19 : i1
      %c21 = arith.andi %c20, %c20 : i1
      %c22 = arith.andi %c21, %c21 : i1
      %c23 = arith.andi %c22, %c22 : i1
      %c24 = arith.andi %c23, %c23 : i1
      %c25 = arith.andi %c24, %c24 : i1
      %c26 = arith.andi %c25, %c25 : i1
      %c27 = arith.andi %c26, %c26 : i1
      %c28 = arith.andi %c27, %c27 : i1
      %c29 = arith.andi %c28, %c28 : i1
      %c30 = arith.andi %c29, %c29 : i1
      %c31 = arith.andi %c30, %c30 : i1
      %c32 = arith.andi %c31, %c31 : i1
      %c33 = arith.andi %c32, %c32 : i1
      %c34 = arith.andi %c33, %c33 : i1
      %c35 = arith.andi %c34, %c34 : i1
      %c36 = arith.andi %c35, %c35 : i1
      %c37 = arith.andi %c36, %c36 : i1
      %c38 = arith.andi %c37, %c37 : i1
      %c39 = arith.andi %c38, %c38 : i1
      %causal = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %c39, %causal : i1
      attn.yield %keep : i1
    }
  return %y : tensor<?x4x32xf32>
}
