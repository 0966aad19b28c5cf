// RUN: rapt-opt --attn-request-attention-outputs="log-sum-exp" --split-input-file --verify-diagnostics %s | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Rows of a number of tokens, as features of sound become: the outputs have it as a dim of its own.
module attributes {attn.model = {positions = 24 : i64, source_positions = 10 : i64}} {
  attn.dim @rows min 1 max 64
  // CHECK-LABEL: @encode
  // CHECK-SAME: tensor<?x10x1x2x10xf32> {attn.dims = ["rows"], attn.name = "encoder_attentions"}, tensor<?x10x1x2xf32> {attn.dims = ["rows"], attn.name = "encoder_log_sum_exp"}
  // CHECK: %[[W:.*]] = tensor.empty(%{{.*}}) : tensor<?x1x2x10xf32>
  // CHECK: attn.attention {{.*}} weights(%[[W]]
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3], [4]] output_shape [%{{.*}}, 10, 1, 2, 10]
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] output_shape [%{{.*}}, 10, 1, 2]
  func.func @encode(%x: tensor<?x10x64xf32> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x10x64xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c10 = arith.constant 10 : index
    %s = arith.constant 0.125 : f32
    %rows = tensor.dim %x, %c0 : tensor<?x10x64xf32>
    %begin = attn.equal_rows %rows, %c10 : tensor<?xi32>
    %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x10x64xf32> into tensor<?x64xf32>
    %h = attn.split_heads %flat : tensor<?x64xf32> -> tensor<?x2x32xf32>
    %a = attn.attention %h, %h, %h, %s q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    %m = attn.merge_heads %a : tensor<?x2x32xf32> -> tensor<?x64xf32>
    %y = tensor.expand_shape %m [[0, 1], [2]] output_shape [%rows, 10, 64] : tensor<?x64xf32> into tensor<?x10x64xf32>
    return %y : tensor<?x10x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// Near miss: the length of the rows is no number.
module attributes {attn.model = {positions = 24 : i64}} {
  attn.dim @rows min 1 max 64
  attn.dim @length min 1 max 64
  func.func @encode(%x: tensor<?x?x64xf32> {attn.name = "x", attn.dims = ["rows", "length"]}) -> (tensor<?x?x64xf32> {attn.name = "y", attn.dims = ["rows", "length"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.constant 0.125 : f32
    %rows = tensor.dim %x, %c0 : tensor<?x?x64xf32>
    %length = tensor.dim %x, %c1 : tensor<?x?x64xf32>
    %begin = attn.equal_rows %rows, %length : tensor<?xi32>
    %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x64xf32> into tensor<?x64xf32>
    %h = attn.split_heads %flat : tensor<?x64xf32> -> tensor<?x2x32xf32>
    // expected-error@+1 {{encoder_attentions needs queries as many as an argument of encode has tokens, which those of this attention are not known to be}}
    %a = attn.attention %h, %h, %h, %s q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    %m = attn.merge_heads %a : tensor<?x2x32xf32> -> tensor<?x64xf32>
    %y = tensor.expand_shape %m [[0, 1], [2]] output_shape [%rows, %length, 64] : tensor<?x64xf32> into tensor<?x?x64xf32>
    return %y : tensor<?x?x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>

// A pool, whose queries are no tokens, is no layer where there are others.
module attributes {attn.model = {positions = 24 : i64}} {
  attn.dim @tokens min 1 max 64
  attn.dim @rows min 1 max 8
  // CHECK-LABEL: @layer_and_pool
  // CHECK-SAME: tensor<?x1x2x24xf32> {attn.dims = ["tokens"], attn.name = "attentions"}, tensor<?x1x2xf32> {attn.dims = ["tokens"], attn.name = "log_sum_exp"}
  // CHECK: attn.attention {{.*}} weights(
  // CHECK: attn.attention
  // CHECK-NOT: weights(
  // CHECK: return
  func.func @layer_and_pool(%x: tensor<?x2x32xf32> {attn.name = "x", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]}, %probe: tensor<?x2x32xf32> {attn.name = "probe", attn.dims = ["rows"]}) -> (tensor<?x2x32xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.constant 0.125 : f32
    %rows = tensor.dim %probe, %c0 : tensor<?x2x32xf32>
    %own = attn.equal_rows %rows, %c1 : tensor<?xi32>
    %a = attn.attention %x, %x, %x, %s q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    %y = attn.attention %probe, %a, %a, %s q_begin(%own : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    return %y : tensor<?x2x32xf32>
  }

  // Near miss: a pool alone.
  // CHECK-LABEL: @pool
  // CHECK-SAME: tensor<?x1x2x24xf32> {attn.dims = ["rows"], attn.name = "attentions"}
  // CHECK: attn.attention {{.*}} weights(
  func.func @pool(%x: tensor<?x2x32xf32> {attn.name = "x", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]}, %probe: tensor<?x2x32xf32> {attn.name = "probe", attn.dims = ["rows"]}) -> (tensor<?x2x32xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.constant 0.125 : f32
    %rows = tensor.dim %probe, %c0 : tensor<?x2x32xf32>
    %own = attn.equal_rows %rows, %c1 : tensor<?xi32>
    %y = attn.attention %probe, %x, %x, %s q_begin(%own : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
    return %y : tensor<?x2x32xf32>
  }
}
