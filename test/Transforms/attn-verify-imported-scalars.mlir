// RUN: rapt-opt %s --attn-verify-imported --verify-diagnostics --split-input-file

// Every op of arith and math that a program may not have: what to use instead.

func.func @addui_extended(%a: i32, %b: i32) {
  // expected-error@+1 {{'arith.addui_extended' op is not a scalar op of the imported stage; use arith.addi, and arith.cmpi ult of the sum and an operand for the carry}}
  %y:2 = arith.addui_extended %a, %b : i32, i1
  return
}

// -----

func.func @mulsi_extended(%a: i32, %b: i32) {
  // expected-error@+1 {{'arith.mulsi_extended' op is not a scalar op of the imported stage; use arith.muli of operands extended by arith.extsi}}
  %y:2 = arith.mulsi_extended %a, %b : i32
  return
}

// -----

func.func @mului_extended(%a: i32, %b: i32) {
  // expected-error@+1 {{'arith.mului_extended' op is not a scalar op of the imported stage; use arith.muli of operands extended by arith.extui}}
  %y:2 = arith.mului_extended %a, %b : i32
  return
}

// -----

func.func @bitcast(%x: f32) {
  // expected-error@+1 {{'arith.bitcast' op is not a scalar op of the imported stage; use ops on values; elements have no bits here}}
  %y = arith.bitcast %x : f32 to i32
  return
}

// -----

func.func @scaling_extf(%x: f16, %b: f16) {
  // expected-error@+1 {{'arith.scaling_extf' op is not a scalar op of the imported stage; use arith.extf and arith.mulf}}
  %y = arith.scaling_extf %x, %b : f16, f16 to f32
  return
}

// -----

func.func @scaling_truncf(%x: f32, %b: f16) {
  // expected-error@+1 {{'arith.scaling_truncf' op is not a scalar op of the imported stage; use arith.divf and arith.truncf}}
  %y = arith.scaling_truncf %x, %b : f32, f16 to f16
  return
}

// -----

func.func @acosh(%x: f32) {
  // expected-error@+1 {{'math.acosh' op is not a scalar op of the imported stage; use math.log of x + sqrt(x * x - 1)}}
  %y = math.acosh %x : f32
  return
}

// -----

func.func @asinh(%x: f32) {
  // expected-error@+1 {{'math.asinh' op is not a scalar op of the imported stage; use math.log of |x| + sqrt(x * x + 1), with the sign of x by math.copysign}}
  %y = math.asinh %x : f32
  return
}

// -----

func.func @atanh(%x: f32) {
  // expected-error@+1 {{'math.atanh' op is not a scalar op of the imported stage; use half of math.log1p of x minus math.log1p of -x}}
  %y = math.atanh %x : f32
  return
}

// -----

func.func @erfc(%x: f32) {
  // expected-error@+1 {{'math.erfc' op is not a scalar op of the imported stage; use 1 - math.erf}}
  %y = math.erfc %x : f32
  return
}

// -----

func.func @sincos(%x: f32) {
  // expected-error@+1 {{'math.sincos' op is not a scalar op of the imported stage; use math.sin and math.cos}}
  %y:2 = math.sincos %x : f32
  return
}

// -----

func.func @clampf(%x: f32, %l: f32, %h: f32) {
  // expected-error@+1 {{'math.clampf' op is not a scalar op of the imported stage; use arith.maximumf and arith.minimumf}}
  %y = math.clampf %x to [%l, %h] : f32
  return
}

// -----

func.func @ipowi(%a: i32, %b: i32) {
  // expected-error@+1 {{'math.ipowi' op is not a scalar op of the imported stage; use arith.muli}}
  %y = math.ipowi %a, %b : i32
  return
}

// -----

func.func @ctlz(%a: i32) {
  // expected-error@+1 {{'math.ctlz' op is not a scalar op of the imported stage; use arith.shrui and arith.cmpi}}
  %y = math.ctlz %a : i32
  return
}

// -----

func.func @cttz(%a: i32) {
  // expected-error@+1 {{'math.cttz' op is not a scalar op of the imported stage; use arith.shrui and arith.andi}}
  %y = math.cttz %a : i32
  return
}

// -----

func.func @ctpop(%a: i32) {
  // expected-error@+1 {{'math.ctpop' op is not a scalar op of the imported stage; use arith.shrui and arith.andi}}
  %y = math.ctpop %a : i32
  return
}

// -----

func.func @isfinite(%x: f32) {
  // expected-error@+1 {{'math.isfinite' op is not a scalar op of the imported stage; use arith.cmpf olt of math.absf and infinity}}
  %y = math.isfinite %x : f32
  return
}

// -----

func.func @isinf(%x: f32) {
  // expected-error@+1 {{'math.isinf' op is not a scalar op of the imported stage; use arith.cmpf oeq of math.absf and infinity}}
  %y = math.isinf %x : f32
  return
}

// -----

func.func @isnan(%x: f32) {
  // expected-error@+1 {{'math.isnan' op is not a scalar op of the imported stage; use arith.cmpf uno of the operand and itself}}
  %y = math.isnan %x : f32
  return
}

// -----

func.func @isnormal(%x: f32) {
  // expected-error@+1 {{'math.isnormal' op is not a scalar op of the imported stage; use arith.cmpf of math.absf with 2^-126 and with infinity}}
  %y = math.isnormal %x : f32
  return
}

// -----

func.func @tensors(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'math.acosh' op is not a scalar op of the imported stage; use math.log}}
  %y = math.acosh %x : tensor<?x8xf32>
  return
}

// -----

func.func @epilogue(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32> {
  ^bb0(%sum: f32):
    // expected-error@+1 {{'math.erfc' op is not a scalar op of the imported stage; use 1 - math.erf}}
    %e = math.erfc %sum : f32
    attn.yield %e : f32
  }
  return
}
