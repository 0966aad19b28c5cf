// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// A region computes a number, and nothing else happens.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @store_A44(%q: tensor<?x4x16xf32>, %s: f32, %m: memref<?xf32>) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'memref.store' op A44: has side effects or reads memory, but the score region of 'attn.attention' may be computed any number of times; give what it reads as an extra operand}}
      memref.store %x, %m[%j] : memref<?xf32>
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @load_A44(%q: tensor<?x4x16xf32>, %s: f32, %m: memref<?xi1>) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'memref.load' op A44: has side effects or reads memory, but the mask region of 'attn.attention' may be computed any number of times; give what it reads as an extra operand}}
      %c = memref.load %m[%j] : memref<?xi1>
      attn.yield %c : i1
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @scratch_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'memref.alloca' op A44: has side effects or reads memory, but the score region of 'attn.attention' may be computed any number of times; give what it reads as an extra operand}}
      %m = memref.alloca() : memref<4xf32>
      attn.yield %x : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @assertion_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c = arith.cmpi sle, %j, %i : index
      // expected-error@+1 {{'cf.assert' op A44: has side effects or reads memory, but the mask region of 'attn.attention' may be computed any number of times; give what it reads as an extra operand}}
      cf.assert %c, "a later key"
      attn.yield %c : i1
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func private @f(%x: f32) -> f32 {
  return %x : f32
}
func.func @call_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'func.call' op A44: is in the score region of 'attn.attention', which has no calls, loops or branches; use ops of arith and math, arith.select among them}}
      %y = func.call @f(%x) : (f32) -> f32
      attn.yield %y : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func private @f(index)
func.func @call_of_unknown_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c = arith.cmpi sle, %j, %i : index
      // expected-error@+1 {{'func.call' op A44: is in the mask region of 'attn.attention', which has no calls, loops or branches; use ops of arith and math, arith.select among them}}
      func.call @f(%j) : (index) -> ()
      attn.yield %c : i1
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @loop_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'scf.for' op A44: is in the score region of 'attn.attention', which has no calls, loops or branches; use ops of arith and math, arith.select among them}}
      %y = scf.for %n = %b to %h step %h iter_args(%z = %x) -> f32 {
        %t = arith.addf %z, %x : f32
        scf.yield %t : f32
      }
      attn.yield %y : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @branch_A44(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %c = arith.cmpi sle, %j, %i : index
      // expected-error@+1 {{'scf.if' op A44: is in the score region of 'attn.attention', which has no calls, loops or branches; use ops of arith and math, arith.select among them}}
      %y = scf.if %c -> f32 {
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      attn.yield %y : f32
    }
  return
}

// -----

// Nothing would check its indices; attn.lookup clamps those of a table.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @tensor_made_A17(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'arith.constant' op A17: makes a 'tensor<4xf32>' in the score region of 'attn.attention', which computes with scalars; give it as an extra operand}}
      %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %y = tensor.extract %t[%h] : tensor<4xf32>
      attn.yield %y : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @later_A17(%q: tensor<?x4x16xf32>, %s: f32) {
  // expected-error@+1 {{'attn.attention' op A17: score region uses a value of type 'f32' that is defined behind the op, or by it; define it before the op}}
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %y = arith.addf %x, %late : f32
      attn.yield %y : f32
    }
  %late = arith.constant 1.0 : f32
  return
}

// -----

// Also where something else is between the two.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @later_in_a_loop_A17(%q: tensor<?x4x16xf32>, %s: f32) {
  // expected-error@+1 {{A17: mask region uses a value of type 'index' that is defined behind the op, or by it; define it before the op}}
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c = arith.cmpi slt, %j, %end : index
      attn.yield %c : i1
    }
  %end = arith.constant 9 : index
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @own_result_A17(%q: tensor<?x4x16xf32>, %s: f32) {
  // expected-error@+1 {{A17: score region uses a value of type 'tensor<?x4x16xf32>' that is defined behind the op, or by it; define it before the op}}
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %y = tensor.extract %0[%i, %h, %h] : tensor<?x4x16xf32>
      attn.yield %y : f32
    }
  return
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @wide_integer_A16(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{'arith.index_cast' op A16: computes with 'i128' in the mask region of 'attn.attention', where integers have at most 64 bits}}
      %n = arith.index_cast %j : index to i128
      %m = arith.index_cast %i : index to i128
      %c = arith.cmpi sle, %n, %m : i128
      attn.yield %c : i1
    }
  return
}

// -----

// Indices have 64 bits with the sign.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @constant_A16(%q: tensor<?x4x16xf32>, %s: f32) {
  %0 = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      // expected-error@+1 {{integer constant out of range for attribute}}
      %n = arith.constant 9223372036854775808 : index
      %c = arith.cmpi sle, %j, %n : index
      attn.yield %c : i1
    }
  return
}
