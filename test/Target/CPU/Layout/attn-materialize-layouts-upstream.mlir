// RUN: rapt-opt %s --attn-materialize-layouts --split-input-file --verify-diagnostics | FileCheck %s

// Ops of other dialects read the columns that count, and ops of attn what these made, padded.
// CHECK-LABEL: @between
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x45xf32> from [#attn.source<"w">]
func.func @between(%x: tensor<?x20xf32>) -> tensor<?x45xf32> {
  %w = attn.parameter_slice @w : tensor<20x45xf32>
  // CHECK: %[[WIDE:.*]] = attn.linear {{.*}} -> tensor<?x64xf32>
  // CHECK: %[[CUT:.*]] = tensor.extract_slice %[[WIDE]][0, 0] [%{{.*}}, 45] [1, 1] : tensor<?x64xf32> to tensor<?x45xf32>
  // CHECK: %[[Y:.*]] = linalg.abs ins(%[[CUT]] : tensor<?x45xf32>)
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[Y]]
  // CHECK: attn.add %[[PADDED]], %[[WIDE]] : tensor<?x64xf32>
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  %1 = linalg.abs ins(%0 : tensor<?x45xf32>) outs(%0 : tensor<?x45xf32>) -> tensor<?x45xf32>
  %2 = attn.add %1, %0 : tensor<?x45xf32>
  return %2 : tensor<?x45xf32>
}
}

// -----

// A weight that is no parameter is packed where the entry runs.
// CHECK-LABEL: @made
// CHECK: %[[PANELS:.*]] = linalg.pack
// CHECK: attn.linear %{{.*}}, %[[PANELS]] {{.*}}tensor<2x20x32xf32>
module attributes {attn.model = {family = "any"}} {
func.func @made(%x: tensor<?x20xf32>, %w: tensor<20x45xf32>) -> tensor<?x45xf32> {
  %v = linalg.abs ins(%w : tensor<20x45xf32>) outs(%w : tensor<20x45xf32>) -> tensor<20x45xf32>
  %0 = attn.linear %x, %v : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  return %0 : tensor<?x45xf32>
}
}

// -----

attn.parameter @w : tensor<32x32xf32> from [#attn.source<"w">]
func.func @packed(%x: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<32x32xf32>) {
  %w = attn.parameter_slice @w : tensor<32x32xf32>
  %y = attn.linear %x, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  // expected-error@+1 {{'linalg.abs' op reads 'w', which a matmul reads as packed panels: declare a second parameter from the same tensors}}
  %z = linalg.abs ins(%w : tensor<32x32xf32>) outs(%w : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y, %z : tensor<?x32xf32>, tensor<32x32xf32>
}

// -----

// Heads of 20 channels are padded to 32 each: their columns do not lie side by side.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x40xf32> from [#attn.source<"w">]
func.func @groups(%x: tensor<?x20xf32>) -> (tensor<?x2x20xf32>, tensor<?x40xf32>) {
  %w = attn.parameter_slice @w : tensor<20x40xf32>
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32>
  %heads = attn.split_heads %0 : tensor<?x40xf32> -> tensor<?x2x20xf32>
  // expected-error@+1 {{'linalg.abs' op reads 'tensor<?x40xf32>', whose columns the CPU pads in groups of 20: read the heads behind attn.split_heads instead}}
  %y = linalg.abs ins(%0 : tensor<?x40xf32>) outs(%0 : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %heads, %y : tensor<?x2x20xf32>, tensor<?x40xf32>
}
}

// -----

module attributes {attn.model = {family = "any"}} {
func.func @cut_apart(%x: tensor<?x40xf32>) -> tensor<?x2x20xf32> {
  %y = linalg.abs ins(%x : tensor<?x40xf32>) outs(%x : tensor<?x40xf32>) -> tensor<?x40xf32>
  // expected-error@+1 {{'attn.split_heads' op takes 'tensor<?x40xf32>' of an op of another dialect, whose channels the CPU cannot pad in groups}}
  %heads = attn.split_heads %y : tensor<?x40xf32> -> tensor<?x2x20xf32>
  return %heads : tensor<?x2x20xf32>
}
}
