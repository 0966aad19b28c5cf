// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file | FileCheck %s

// An epilogue that makes another number of zero gives its padding zeros afterwards: each head of 20 channels has 12 of them.
// CHECK-LABEL: @heads
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x40xf32> from [#attn.source<"w">]
func.func @heads(%x: tensor<?x20xf32>) -> tensor<?x2x20xf32> {
  %w = attn.parameter_slice @w : tensor<20x40xf32>
  // CHECK: %[[Y:.*]] = attn.linear {{.*}} -> tensor<?x64xf32>
  // CHECK: %[[ZEROED:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x64xf32>)
  // CHECK-DAG: %[[COLUMN:.*]] = linalg.index 1
  // CHECK-DAG: %[[ALL:.*]] = arith.constant 32
  // CHECK: %[[CHANNEL:.*]] = arith.remui %[[COLUMN]], %[[ALL]]
  // CHECK: %[[COUNT:.*]] = arith.constant 20
  // CHECK: arith.cmpi ult, %[[CHANNEL]], %[[COUNT]]
  // CHECK: attn.split_heads %[[ZEROED]]
  %y = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32> {
  ^bb0(%s: f32):
    %e = math.exp %s : f32
    attn.yield %e : f32
  }
  %h = attn.split_heads %y : tensor<?x40xf32> -> tensor<?x2x20xf32>
  return %h : tensor<?x2x20xf32>
}
}

// -----

// So does a sigmoid. Columns of one group are those before the padding.
// CHECK-LABEL: @sigmoid
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x45xf32> from [#attn.source<"w">]
attn.parameter @norm : tensor<45xf32> from [#attn.source<"norm">]
func.func @sigmoid(%x: tensor<?x20xf32>) -> tensor<?x45xf32> {
  %w = attn.parameter_slice @w : tensor<20x45xf32>
  %norm = attn.parameter_slice @norm : tensor<45xf32>
  %y = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  // CHECK: %[[Y:.*]] = attn.activation sigmoid
  // CHECK: %[[ZEROED:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x64xf32>)
  // CHECK-NOT: arith.remui
  // CHECK: arith.constant 45
  // CHECK: attn.rms_norm %[[ZEROED]]
  %a = attn.activation sigmoid %y : tensor<?x45xf32>
  %z = attn.rms_norm %a, %norm epsilon 1.0e-5 : tensor<?x45xf32>, tensor<45xf32>
  return %z : tensor<?x45xf32>
}
}

// -----

// Ops that keep zeros stay as they are, and so do columns without padding.
// CHECK-LABEL: @keeps
// CHECK-NOT: linalg.generic
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x45xf32> from [#attn.source<"w">]
attn.parameter @v : tensor<45x64xf32> from [#attn.source<"v">]
func.func @keeps(%x: tensor<?x20xf32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @w : tensor<20x45xf32>
  %v = attn.parameter_slice @v : tensor<45x64xf32>
  %y = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32> {
  ^bb0(%s: f32):
    %one = arith.constant 1.0 : f32
    %e = math.erf %s : f32
    %f = arith.addf %e, %one : f32
    %g = arith.mulf %s, %f : f32
    attn.yield %g : f32
  }
  %a = attn.activation silu %y : tensor<?x45xf32>
  %b = attn.linear %a, %v : tensor<?x45xf32>, tensor<45x64xf32> -> tensor<?x64xf32>
  %z = attn.activation sigmoid %b : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
}

// -----

// An entry gives back the channels that count of each head of 20.
// CHECK-LABEL: @merged
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x40xf32> from [#attn.source<"w">]
func.func @merged(%x: tensor<?x20xf32>) -> (tensor<?x40xf32> {attn.name = "y"}) attributes {attn.entry} {
  %w = attn.parameter_slice @w : tensor<20x40xf32>
  %y = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32>
  %h = attn.split_heads %y : tensor<?x40xf32> -> tensor<?x2x20xf32>
  // CHECK: %[[ALL:.*]] = attn.merge_heads {{.*}} -> tensor<?x64xf32>
  // CHECK: %[[Y:.*]] = linalg.generic
  // CHECK: tensor.extract %[[ALL]]
  // CHECK: return %[[Y]] : tensor<?x40xf32>
  %m = attn.merge_heads %h : tensor<?x2x20xf32> -> tensor<?x40xf32>
  return %m : tensor<?x40xf32>
}
}
