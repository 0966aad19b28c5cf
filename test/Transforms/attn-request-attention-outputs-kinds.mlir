// RUN: rapt-opt --attn-request-attention-outputs --split-input-file %s | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>

// Attention to a source, whose lengths are told, is another output. Regions and log-sum-exp stay; the output has the name of the argument's dim.
// A function that no entry calls has no outputs, and queries of a static number make a static tensor.
module attributes {attn.model = {positions = 24 : i64}} {
  attn.dim @n min 1 max 64
  // CHECK: func.func @own({{.*}}) -> tensor<?x2x3x32xf32> {
  // CHECK-NOT: weights
  // CHECK-LABEL: @both
  // CHECK-SAME: tensor<?x1x6x24xf32> {attn.dims = ["n"], attn.name = "attentions"}, tensor<?x1x6x24xf32> {attn.dims = ["n"], attn.name = "cross_attentions"}
  // CHECK: %[[Y:.*]], %[[LSE:.*]], %[[OWN:.*]] = attn.attention {{.*}} weights({{.*}}) log_sum_exp {{.*}} mask {
  // CHECK: %{{.*}}, %[[CROSS:.*]] = attn.attention %[[Y]], {{.*}} kv_length({{.*}}) weights(
  // CHECK: return %{{.*}}, %[[LSE]], %[[OWN]], %[[CROSS]]
  // CHECK-LABEL: @fixed
  // CHECK-SAME: tensor<5x1x6x24xf32> {attn.name = "attentions"}
  func.func @own(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %s: f32) -> tensor<?x2x3x32xf32> {
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %y : tensor<?x2x3x32xf32>
  }
  func.func @both(%q: tensor<?x2x3x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x2x32xf32> {attn.name = "k", attn.dims = ["n"]}, %c: tensor<?x?x2x32xf32> {attn.name = "c", attn.dims = ["n", "n"]},
                  %r: tensor<?xi32> {attn.name = "r", attn.dims = ["n+1"]}, %l: tensor<?xi32> {attn.name = "l", attn.dims = ["n"]})
      -> (tensor<?x2x3x32xf32> {attn.name = "y", attn.dims = ["n"]}, tensor<?x2x3xf32> {attn.name = "lse", attn.dims = ["n"]}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %y, %lse = attn.attention %q, %k, %k, %s log_sum_exp maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32> mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %keep = arith.cmpi sle, %j, %i : index
        attn.yield %keep : i1
      }
    %z = attn.attention %y, %c, %c, %s q_begin(%r : tensor<?xi32>) kv_length(%l : tensor<?xi32>) maps [#q, #c, #cv, #o] : tensor<?x2x3x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %z, %lse : tensor<?x2x3x32xf32>, tensor<?x2x3xf32>
  }
  func.func @fixed(%q: tensor<5x2x3x32xf32> {attn.name = "q"}) -> (tensor<5x2x3x32xf32> {attn.name = "y"}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %k = tensor.empty() : tensor<7x2x32xf32>
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<5x2x3x32xf32>, tensor<7x2x32xf32>, tensor<7x2x32xf32> -> tensor<5x2x3x32xf32>
    return %y : tensor<5x2x3x32xf32>
  }
  // Attention with the probabilities of the one before it has no map of its own.
  // CHECK-LABEL: @repeated
  // CHECK-SAME: tensor<5x1x6x24xf32> {attn.name = "attentions"}
  // CHECK: attn.attention {{.*}} weights(
  // CHECK: attn.attention
  // CHECK-NOT: weights(
  func.func @repeated(%q: tensor<5x2x3x32xf32> {attn.name = "q"}) -> (tensor<5x2x3x32xf32> {attn.name = "y"}, tensor<5x2x3x32xf32> {attn.name = "z"}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %k = tensor.empty() : tensor<7x2x32xf32>
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<5x2x3x32xf32>, tensor<7x2x32xf32>, tensor<7x2x32xf32> -> tensor<5x2x3x32xf32>
    %v = tensor.empty() : tensor<7x2x32xf32>
    %z = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] {attn.repeated} : tensor<5x2x3x32xf32>, tensor<7x2x32xf32>, tensor<7x2x32xf32> -> tensor<5x2x3x32xf32>
    return %y, %z : tensor<5x2x3x32xf32>, tensor<5x2x3x32xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>

// Near miss: a function that a kernel's entry calls is no entry of its own.
// CHECK-NOT: func.func private @block
// CHECK-LABEL: @kernel
// CHECK-SAME: tensor<?x1x6x24xf32> {attn.name = "attentions"}
module attributes {attn.model = {positions = 24 : i64}} {
  func.func private @block(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %s: f32) -> tensor<?x2x3x32xf32> {
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %y : tensor<?x2x3x32xf32>
  }
  func.func @kernel(%q: tensor<?x2x3x32xf32> {attn.name = "q"}, %k: tensor<?x2x32xf32> {attn.name = "k"}, %s: f32 {attn.name = "s"}) -> (tensor<?x2x3x32xf32> {attn.name = "y"}) attributes {attn.entry} {
    %y = func.call @block(%q, %k, %s) : (tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, f32) -> tensor<?x2x3x32xf32>
    return %y : tensor<?x2x3x32xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// A pool of texts, whose only query is no token, has a row for each text.
// CHECK: func.func @pooled({{.*}}, %[[BEGIN:[a-z0-9]+]]: tensor<?xi32> {attn.dims = ["rows+1"], attn.name = "row_begin"})
// CHECK-SAME: tensor<?x1x1x24xf32> {attn.dims = ["rows"], attn.name = "attentions"})
// CHECK: %[[SIZE:.*]] = tensor.dim %[[BEGIN]]
// CHECK: %[[ROWS:.*]] = arith.subi %[[SIZE]]
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x1x1x24xf32>
module attributes {attn.model = {positions = 24 : i64}} {
  attn.dim @tokens min 1 max 64
  attn.dim @rows min 1 max 8
  attn.parameter @query : tensor<1x16xf32> from [#attn.source<"query">]
  func.func @pooled(%x: tensor<?x1x16xf32> {attn.name = "x", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]}) -> (tensor<?x1x16xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.constant 0.25 : f32
    %offsets = tensor.dim %begin, %c0 : tensor<?xi32>
    %rows = arith.subi %offsets, %c1 : index
    %last = arith.subi %rows, %c1 : index
    %ids = attn.equal_rows %last, %c0 : tensor<?xi32>
    %one = attn.equal_rows %rows, %c1 : tensor<?xi32>
    %learned = attn.parameter_slice @query : tensor<1x16xf32>
    %all = attn.select_rows %learned, %ids : tensor<1x16xf32>, tensor<?xi32> -> tensor<?x16xf32>
    %q = attn.split_heads %all : tensor<?x16xf32> -> tensor<?x1x16xf32>
    %y = attn.attention %q, %x, %x, %s q_begin(%one : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x1x16xf32>, tensor<?x1x16xf32>, tensor<?x1x16xf32> -> tensor<?x1x16xf32>
    return %y : tensor<?x1x16xf32>
  }
}
