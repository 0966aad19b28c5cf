// RUN: rapt-opt %s --attn-inline-calls --split-input-file --verify-diagnostics | FileCheck %s
// A function that calls itself; what calls that double become is tested where the tools are (test/Driver/hostile-text.test).

// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %arg0, %arg0
  // CHECK-NEXT: %[[Z:.*]] = arith.addf %[[Y]], %[[Y]]
  // CHECK-NEXT: return %[[Z]]
  %y = func.call @block(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %z = func.call @block(%y) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
func.func private @block(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = arith.addf %x, %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Near miss: one function called twice, and a call of a declaration, which stays.
// CHECK-LABEL: func.func @diamond
func.func @diamond() {
  // CHECK-COUNT-2: call @external
  func.call @left() : () -> ()
  func.call @right() : () -> ()
  return
}
func.func private @external()
func.func private @left() {
  func.call @external() : () -> ()
  return
}
func.func private @right() {
  func.call @external() : () -> ()
  return
}

// -----

// expected-error@+1 {{'func.func' op calls itself, directly or through others; functions are inlined and cannot}}
func.func @recursion() {
  func.call @recursion() : () -> ()
  return
}

// -----

// expected-error@+1 {{calls itself, directly or through others}}
func.func @even() {
  func.call @odd() : () -> ()
  return
}
func.func private @odd() {
  func.call @even() : () -> ()
  return
}
