// RUN: rapt-opt %s --attn-define-arithmetic --split-input-file | FileCheck %s

// A divisor of 0 or -1 is replaced by 1, by which a remainder is 0. Quotients by 0 and -1 are 0 and the negated dividend.
// CHECK-LABEL: @divide
// CHECK-SAME: %[[X:.*]]: i32, %[[Y:.*]]: i32
func.func @divide(%x: i32, %y: i32) -> (i32, i32) {
  // CHECK: %[[ISZERO:.*]] = arith.cmpi eq, %[[Y]], %[[ZERO:.*]] : i32
  // CHECK: %[[ISMINUS:.*]] = arith.cmpi eq, %[[Y]], %{{.*}} : i32
  // CHECK: %[[BAD:.*]] = arith.ori %[[ISZERO]], %[[ISMINUS]]
  // CHECK: %[[MINUS:.*]] = arith.subi %[[ZERO]], %[[X]]
  // CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %[[Y]]
  // CHECK: %[[Q:.*]] = arith.divsi %[[X]], %[[SAFE]]
  // CHECK: %[[NEGATED:.*]] = arith.select %[[ISMINUS]], %[[MINUS]], %[[Q]]
  // CHECK: %[[QUOTIENT:.*]] = arith.select %[[ISZERO]], %[[ZERO]], %[[NEGATED]]
  // CHECK: %[[SAFE2:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Y]]
  // CHECK: %[[REMAINDER:.*]] = arith.remsi %[[X]], %[[SAFE2]]
  // CHECK: return %[[QUOTIENT]], %[[REMAINDER]]
  %q = arith.divsi %x, %y : i32
  %r = arith.remsi %x, %y : i32
  return %q, %r : i32, i32
}

// -----

// Constants that have a result stay: no code of a model changes.
// CHECK-LABEL: @constants
func.func @constants(%x: index, %y: i32) -> (index, index, i32) {
  // CHECK-NOT: arith.select
  %c3 = arith.constant 3 : index
  %n31 = arith.constant 31 : i32
  %q = arith.divsi %x, %c3 : index
  %r = arith.remui %q, %c3 : index
  %s = arith.shrsi %y, %n31 : i32
  return %q, %r, %s : index, index, i32
}

// -----

// A constant 0, a shift by the width, and flags: scores may well be infinite.
// CHECK-LABEL: @undefined
func.func @undefined(%x: i32, %y: f32) -> (i32, i32, i32, f32, f32) {
  // CHECK: arith.select
  // CHECK: arith.divui
  // CHECK: arith.select
  // CHECK: arith.cmpi ult
  // CHECK: arith.shli %{{.*}}, %{{[^ ]*}} : i32
  // CHECK: arith.select
  // CHECK: arith.addi %{{.*}}, %{{[^ ]*}} : i32
  %n0 = arith.constant 0 : i32
  %n32 = arith.constant 32 : i32
  %q = arith.divui %x, %n0 : i32
  %s = arith.shli %x, %n32 overflow<nsw> : i32
  %t = arith.addi %x, %x overflow<nsw, nuw> : i32
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,nsz> : f32
  // CHECK: math.exp %{{[^ ]*}} : f32
  %u = arith.addf %y, %y fastmath<reassoc,nnan,ninf,nsz> : f32
  %v = math.exp %y fastmath<ninf> : f32
  return %q, %s, %t, %u, %v : i32, i32, i32, f32, f32
}

// -----

// The least float above -2^31 - 1 is -2^31; -1 is a float, so that -0.5 becomes 0. NaN is not between any two.
// CHECK-LABEL: @casts
func.func @casts(%x: f32) -> (i32, i32, i8) {
  // CHECK: %[[LOW:.*]] = arith.constant -2.14748365E+9 : f32
  // CHECK: arith.cmpf oge, %{{.*}}, %[[LOW]]
  // CHECK: %[[HIGH:.*]] = arith.constant 2.14748365E+9 : f32
  // CHECK: arith.cmpf olt, %{{.*}}, %[[HIGH]]
  // CHECK: %[[INSIDE:.*]] = arith.andi
  // CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : f32
  // CHECK: arith.fptosi %[[SAFE]]
  // CHECK: %[[MINUS:.*]] = arith.constant -1.000000e+00 : f32
  // CHECK: arith.cmpf ogt, %{{.*}}, %[[MINUS]]
  // CHECK: arith.fptoui
  // CHECK: %[[BYTE:.*]] = arith.constant -1.290000e+02 : f32
  // CHECK: arith.cmpf ogt, %{{.*}}, %[[BYTE]]
  %a = arith.fptosi %x : f32 to i32
  %b = arith.fptoui %x : f32 to i32
  %c = arith.fptosi %x : f32 to i8
  return %a, %b, %c : i32, i32, i8
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>
// Regions as well: the extra is 0 in lanes beyond the last key.
// CHECK-LABEL: @region
func.func @region(%x: tensor<?x32xf32>, %d: tensor<?xi32>) -> tensor<?x32xf32> {
  %scale = arith.constant 0.25 : f32
  // CHECK: mask
  // CHECK: %[[SAFE:.*]] = arith.select
  // CHECK: arith.remsi %{{.*}}, %[[SAFE]] : index
  %o = attn.attention %x, %x, %x, %scale extras(%d : tensor<?xi32>) maps [#q, #k, #v, #o, #e]
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %e: i32):
    %zero = arith.constant 0 : index
    %divisor = arith.index_cast %e : i32 to index
    %rest = arith.remsi %i, %divisor : index
    %keep = arith.cmpi eq, %rest, %zero : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x32xf32>
}
