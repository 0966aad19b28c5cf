// RUN: rapt-opt --attn-request-attention-outputs --split-input-file --verify-diagnostics %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
// expected-error@+1 {{a kernel has no positions of its own: run attn-request-attention-outputs with positions=N, the most keys of a sequence}}
func.func @kernel(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x3x32xf32> {
  %s = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  return %y : tensor<?x2x3x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
// expected-error@+1 {{the entry named has a buffer named attentions already}}
func.func @named(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> (tensor<?x2x3x32xf32> {attn.name = "attentions"}) {
  %s = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  return %y : tensor<?x2x3x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @made(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %n: index) -> tensor<?x2x3x32xf32> {
  %s = arith.constant 0.125 : f32
  %x = tensor.empty(%n) : tensor<?x2x3x32xf32>
  // expected-error@+1 {{attentions needs queries as many as an argument of made has tokens, which those of this attention are not known to be}}
  %y = attn.attention %x, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  return %y : tensor<?x2x3x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
module attributes {attn.model = {positions = 8193 : i64}} {
  // expected-error@+1 {{the model has 8193 positions, at most 8192 can be looked at: shorten them with --max-seq-len, or with the option positions}}
  func.func @long(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x3x32xf32> attributes {attn.entry} {
    %s = arith.constant 0.125 : f32
    %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    return %y : tensor<?x2x3x32xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
module attributes {attn.model = {positions = 8192 : i64}} {
// expected-error@+1 {{attentions has 60000 layers of 6 heads of 8192 keys, more numbers for a token than 2147483647: ask for fewer layers or heads}}
func.func @large(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x3x32xf32> attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 60000 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant 0.125 : f32
  %y = scf.for %i = %c0 to %c9 step %c1 iter_args(%z = %q) -> tensor<?x2x3x32xf32> {
    %r = attn.attention %z, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    scf.yield %r : tensor<?x2x3x32xf32>
  }
  return %y : tensor<?x2x3x32xf32>
}
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
// A pool of texts has one query for each; two are no rows of the batch.
module attributes {attn.model = {positions = 24 : i64}} {
  attn.dim @tokens min 1 max 64
  attn.dim @rows min 1 max 8
  attn.parameter @query : tensor<1x1x16xf32> from [#attn.source<"query">]
  func.func @forward(%x: tensor<?x1x16xf32> {attn.name = "x", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]}) -> (tensor<?x1x16xf32> {attn.name = "y"}) attributes {attn.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %s = arith.constant 0.25 : f32
    %offsets = tensor.dim %begin, %c0 : tensor<?xi32>
    %rows = arith.subi %offsets, %c1 : index
    %two = attn.equal_rows %rows, %c2 : tensor<?xi32>
    %count = arith.muli %rows, %c2 : index
    %q = tensor.empty(%count) : tensor<?x1x16xf32>
    // expected-error@+1 {{attentions needs queries as many as an argument of forward has tokens, which those of this attention are not known to be}}
    %y = attn.attention %q, %x, %x, %s q_begin(%two : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] : tensor<?x1x16xf32>, tensor<?x1x16xf32>, tensor<?x1x16xf32> -> tensor<?x1x16xf32>
    return %y : tensor<?x1x16xf32>
  }
}
