// RUN: rapt-opt %s --attn-expand-math --verify-diagnostics --split-input-file

func.func @f64(%x: f64) -> f64 {
  // expected-error@+1 {{'math.exp' op on 'f64' would call libm; expected a function of dialect/Attn/ScalarOps.def on scalars or vectors of f32, bf16 or f16}}
  %0 = math.exp %x : f64
  return %0 : f64
}

// -----

func.func @refused(%x: f32) -> f32 {
  // expected-error@+1 {{'math.erfc' op on 'f32' would call libm}}
  %0 = math.erfc %x : f32
  return %0 : f32
}

// -----

func.func @remainder(%x: f64) -> f64 {
  // expected-error@+1 {{'arith.remf' op on 'f64' would call libm}}
  %0 = arith.remf %x, %x : f64
  return %0 : f64
}

// -----

// Near miss: instructions of every processor.
func.func @instruction(%x: f64) -> f64 {
  %0 = math.sqrt %x : f64
  return %0 : f64
}
