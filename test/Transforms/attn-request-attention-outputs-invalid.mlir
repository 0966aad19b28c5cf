// RUN: rapt-opt --attn-request-attention-outputs="layers=1 positions=64" --split-input-file --verify-diagnostics %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
// expected-error@+1 {{layer 1 is asked for; attentions has layers 0 to 0}}
func.func @layer(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x3x32xf32> {
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
func.func @bounds(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %n: index) -> tensor<?x2x3x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant 0.125 : f32
  // expected-error@+1 {{attentions needs loops over layers whose bounds and step are constants}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%z = %q) -> tensor<?x2x3x32xf32> {
    %r = attn.attention %z, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    scf.yield %r : tensor<?x2x3x32xf32>
  }
  return %y : tensor<?x2x3x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @many(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x3x32xf32> {
  %c0 = arith.constant 0 : index
  %n = arith.constant 9223372036854775807 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant 0.125 : f32
  // expected-error@+1 {{attentions has more than 65536 layers}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%z = %q) -> tensor<?x2x3x32xf32> {
    %r = attn.attention %z, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
    scf.yield %r : tensor<?x2x3x32xf32>
  }
  return %y : tensor<?x2x3x32xf32>
}

// -----

#q1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#o1 = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @heads(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %p3: tensor<?x3x32xf32>) -> (tensor<?x2x3x32xf32>, tensor<?x3x32xf32>) {
  %s = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %s maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  %k3 = tensor.empty() : tensor<7x3x32xf32>
  // expected-error@+1 {{attentions needs one number of heads in all layers, found 6 and 3}}
  %z = attn.attention %p3, %k3, %k3, %s maps [#q1, #k, #v, #o1] : tensor<?x3x32xf32>, tensor<7x3x32xf32>, tensor<7x3x32xf32> -> tensor<?x3x32xf32>
  return %y, %z : tensor<?x2x3x32xf32>, tensor<?x3x32xf32>
}

// -----

#bq = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#bo = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @rows(%x: tensor<?x?x2x32xf32>, %c: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
  %s = arith.constant 0.125 : f32
  // expected-error@+1 {{attentions needs packed queries, and those of this attention have the dim b}}
  %y = attn.attention %x, %c, %c, %s maps [#bq, #c, #cv, #bo] : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %y : tensor<?x?x2x32xf32>
}

// -----

#hq = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#ho = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @dynamic(%x: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
  %s = arith.constant 0.125 : f32
  // expected-error@+1 {{queries 'tensor<?x?x32xf32>' have a number of heads that is not static}}
  %y = attn.attention %x, %x, %x, %s maps [#hq, #k, #v, #ho] : tensor<?x?x32xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#c = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#cv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
func.func @twice(%q: tensor<?x2x3x32xf32>, %k: tensor<?x2x32xf32>, %w: tensor<?x1x1x64xf32>) -> tensor<?x1x1x64xf32> {
  %s = arith.constant 0.125 : f32
  %l = arith.constant 0 : index
  // expected-error@+1 {{attentions is asked for, and this attention gives its weights already}}
  %y, %n = attn.attention %q, %k, %k, %s weights(%w[%l] heads [0] : tensor<?x1x1x64xf32>) maps [#q, #k, #v, #o] : tensor<?x2x3x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x3x32xf32>
  return %n : tensor<?x1x1x64xf32>
}

// -----

// expected-error@+1 {{the model has no attention}}
module {
  func.func @none(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    return %x : tensor<?x32xf32>
  }
}
