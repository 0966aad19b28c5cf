// RUN: rapt-opt %s --attn-expand-math --split-input-file | FileCheck %s

// CHECK-LABEL: @all
func.func @all(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, f32, f32, f32) {
  // CHECK-NOT: math.exp
  // CHECK-NOT: math.tanh
  // CHECK-NOT: math.erf
  // CHECK-NOT: math.sin
  // CHECK-NOT: math.cos
  // CHECK-NOT: math.log
  // CHECK: math.fma {{.*}} : vector<16xf32>
  // CHECK: return
  %0 = math.exp2 %x : vector<16xf32>
  %1 = math.tanh %x : vector<16xf32>
  %2 = math.erf %x : vector<16xf32>
  %3 = math.exp %y : f32
  %4 = math.sin %x : vector<16xf32>
  %5 = math.cos %y : f32
  %6 = math.log %y : f32
  return %0, %1, %2, %4, %3, %5, %6 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, f32, f32, f32
}

// An argument that is never above zero overflows nothing: one comparison, and no copy of the argument where it is NaN.
// CHECK-LABEL: @nonpositive
func.func @nonpositive(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-COUNT-1: arith.cmpf olt
  // CHECK-NOT: arith.cmpf
  // CHECK: return
  %0 = math.exp2 %x {nonpositive} : vector<16xf32>
  return %0 : vector<16xf32>
}

// The rarer functions are computed in f64.
// CHECK-LABEL: @wide
func.func @wide(%x: vector<16xf32>, %y: f32, %n: i32) -> (vector<16xf32>, f32, f32) {
  // CHECK-NOT: math.{{powf|fpowi|tan}}
  // CHECK-NOT: arith.remf
  // CHECK: arith.extf {{.*}} : vector<16xf32> to vector<16xf64>
  // CHECK: arith.truncf {{.*}} : vector<16xf64> to vector<16xf32>
  // CHECK: return
  %0 = math.powf %x, %x : vector<16xf32>
  %1 = math.fpowi %y, %n : f32, i32
  %2 = arith.remf %1, %y : f32
  %3 = math.tan %2 : f32
  return %0, %1, %3 : vector<16xf32>, f32, f32
}

// Functions of 16-bit floats are computed in f32.
// CHECK-LABEL: @narrow
func.func @narrow(%x: vector<16xf16>) -> vector<16xf16> {
  // CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
  // CHECK-NOT: math.exp
  // CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
  %0 = math.exp %x : vector<16xf16>
  return %0 : vector<16xf16>
}

// Rounding to bf16 is arithmetic on integers, too.
// CHECK-LABEL: func.func @round
func.func @round(%x: vector<16xf32>) -> vector<16xbf16> {
  // CHECK: arith.bitcast %{{.*}} : vector<16xf32> to vector<16xi32>
  // CHECK: arith.shrui
  // CHECK: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
  // CHECK-NOT: arith.truncf
  %0 = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  return %0 : vector<16xbf16>
}

// An argument whose power is rounded to bf16 needs two multiply-adds fewer.
// CHECK-LABEL: @rounded
func.func @rounded(%y: vector<8xf32>) -> vector<8xf32> {
  // CHECK-COUNT-3: math.fma {{.*}} : vector<8xf32>
  // CHECK-NOT: math.fma
  // CHECK: return
  %0 = math.exp2 %y {nonpositive, rounded} : vector<8xf32>
  return %0 : vector<8xf32>
}
