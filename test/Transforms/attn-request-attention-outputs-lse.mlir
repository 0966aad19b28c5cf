// RUN: rapt-opt --attn-request-attention-outputs="weights=false log-sum-exp" --split-input-file --verify-diagnostics %s | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, q, dv)>

// Queries need not be packed for log-sum-exp. Its dims have the names of the arguments' dims.
// CHECK-LABEL: @named
// CHECK-SAME: -> (tensor<?x4x?x32xf32> {attn.name = "o"}, tensor<?x4x?xf32> {attn.dims = ["rows", "n"], attn.name = "log_sum_exp"})
func.func @named(%q: tensor<?x?x4x32xf32> {attn.name = "q", attn.dims = ["rows", "n"]}, %k: tensor<?x?x4x32xf32> {attn.name = "k", attn.dims = ["rows", "m"]}) -> (tensor<?x4x?x32xf32> {attn.name = "o"}) {
  %s = arith.constant 0.125 : f32
  // CHECK: %[[O:.*]], %[[LSE:.*]] = attn.attention {{.*}} log_sum_exp maps
  // CHECK: return %[[O]], %[[LSE]]
  %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x?x32xf32>
  return %o : tensor<?x4x?x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, q, dv)>

// Near miss: an op that gives it already stays as it is, and a kernel's dims need no names.
// CHECK-LABEL: @given
// CHECK-SAME: tensor<?x4x?xf32>, tensor<?x4x?xf32> {attn.name = "log_sum_exp"})
func.func @given(%q: tensor<?x?x4x32xf32>, %k: tensor<?x?x4x32xf32>) -> (tensor<?x4x?xf32>) {
  %s = arith.constant 0.125 : f32
  // CHECK: %{{.*}}, %[[LSE:.*]] = attn.attention
  // CHECK: return %[[LSE]], %[[LSE]]
  %o, %lse = attn.attention %q, %k, %k, %s log_sum_exp maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x?x32xf32>
  return %lse : tensor<?x4x?xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, q, dv)>

func.func @two(%q: tensor<?x?x4x32xf32>, %k: tensor<?x?x4x32xf32>) -> (tensor<?x4x?x32xf32>, tensor<?x4x?x32xf32>) {
  %s = arith.constant 0.125 : f32
  %t = arith.constant 0.25 : f32
  // expected-error@+1 {{log_sum_exp needs packed queries, and those of this attention have the dim b}}
  %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x?x32xf32>
  %p = attn.attention %q, %k, %k, %t maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x?x32xf32>
  return %o, %p : tensor<?x4x?x32xf32>, tensor<?x4x?x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
func.func @layers(%q: tensor<?x?x4x32xf32>, %k: tensor<?x?x4x32xf32>) -> tensor<?x?x4x32xf32> {
  %s = arith.constant 0.125 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %o = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %q) -> tensor<?x?x4x32xf32> {
    // expected-error@+1 {{log_sum_exp needs packed queries, and those of this attention have the dim b}}
    %y = attn.attention %x, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32>
    scf.yield %y : tensor<?x?x4x32xf32>
  }
  return %o : tensor<?x?x4x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, hkv, q, dv)>

module attributes {attn.model = {positions = 24 : i64}} {
  func.func @made(%n: index {attn.name = "n"}, %k: tensor<?x?x4x32xf32> {attn.name = "k"}) -> (tensor<?x4x?x32xf32> {attn.name = "o"}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %q = tensor.empty(%n, %n) : tensor<?x?x4x32xf32>
    // expected-error@+1 {{log_sum_exp needs extents that arguments of made have}}
    %o = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x4x?x32xf32>
    return %o : tensor<?x4x?x32xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// A model's only attention has a layer of its own, unlike a kernel's. Each part of an encoder-decoder names its output; a model without known
// positions has log-sum-exp of as many.
// CHECK-LABEL: @encode
// CHECK-SAME: tensor<?x1x6xf32> {attn.dims = ["n"], attn.name = "encoder_log_sum_exp"}
// CHECK-LABEL: @step
// CHECK-SAME: tensor<?x1x6xf32> {attn.dims = ["n"], attn.name = "decoder_log_sum_exp"}, tensor<?x1x6xf32> {attn.dims = ["n"], attn.name = "cross_log_sum_exp"}
module attributes {attn.model = {positions = 100000 : i64}} {
  attn.dim @n min 1 max 64
  func.func @encode(%q: tensor<?x2x3x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x2x32xf32> {attn.name = "k", attn.dims = ["n"]}) -> (tensor<?x2x3x32xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %y : tensor<?x2x3x32xf32>
  }
  func.func @step(%q: tensor<?x2x3x32xf32> {attn.name = "q", attn.dims = ["n"]}, %k: tensor<?x2x32xf32> {attn.name = "k", attn.dims = ["n"]}, %l: tensor<1xi32> {attn.name = "l"}) -> (tensor<?x2x3x32xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    %z = attn.attention %y, %k, %k, %s kv_length(%l : tensor<1xi32>) maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %z : tensor<?x2x3x32xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
// expected-error@+1 {{the entry taken has a buffer named log_sum_exp already}}
func.func @taken(%q: tensor<?x2x3x32xf32> {attn.name = "log_sum_exp"}, %k: tensor<?x2x32xf32> {attn.name = "k"}) -> tensor<?x2x3x32xf32> {
  %s = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  return %y : tensor<?x2x3x32xf32>
}
