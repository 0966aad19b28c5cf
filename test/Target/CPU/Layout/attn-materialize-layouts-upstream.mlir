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
  // CHECK: arith.addf %[[PADDED]], %[[WIDE]] : tensor<?x64xf32>
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  %1 = linalg.abs ins(%0 : tensor<?x45xf32>) outs(%0 : tensor<?x45xf32>) -> tensor<?x45xf32>
  %2 = arith.addf %1, %0 : tensor<?x45xf32>
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

// Heads of 20 channels are padded to 32 each: their columns are not contiguous.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x40xf32> from [#attn.source<"w">]
func.func @groups(%x: tensor<?x20xf32>) -> (tensor<?x2x20xf32>, tensor<?x40xf32>) {
  %w = attn.parameter_slice @w : tensor<20x40xf32>
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32>
  %heads = attn.split_heads %0 : tensor<?x40xf32> -> tensor<?x2x20xf32>
  // expected-error@+1 {{'linalg.abs' op reads 'tensor<?x40xf32>', whose columns the CPU pads in groups of 20: read the heads after attn.split_heads instead}}
  %y = linalg.abs ins(%0 : tensor<?x40xf32>) outs(%0 : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %heads, %y : tensor<?x2x20xf32>, tensor<?x40xf32>
}
}

// -----

// The padding of one head is that of its row, also where an op of another dialect makes or reads the columns.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x40xf32> from [#attn.source<"w">]
// CHECK-LABEL: @one_group
func.func @one_group(%x: tensor<?x20xf32>) -> (tensor<?x1x40xf32>, tensor<?x1x40xf32>) {
  %w = attn.parameter_slice @w : tensor<20x40xf32>
  // CHECK: %[[WIDE:.*]] = attn.linear {{.*}} -> tensor<?x64xf32>
  // CHECK: attn.split_heads %[[WIDE]]
  // CHECK: %[[CUT:.*]] = tensor.extract_slice %[[WIDE]][0, 0] [%{{.*}}, 40] [1, 1]
  // CHECK: %[[Y:.*]] = linalg.abs ins(%[[CUT]] : tensor<?x40xf32>)
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[Y]]
  // CHECK: attn.split_heads %[[PADDED]]
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32>
  %heads = attn.split_heads %0 : tensor<?x40xf32> -> tensor<?x1x40xf32>
  %y = linalg.abs ins(%0 : tensor<?x40xf32>) outs(%0 : tensor<?x40xf32>) -> tensor<?x40xf32>
  %again = attn.split_heads %y : tensor<?x40xf32> -> tensor<?x1x40xf32>
  return %heads, %again : tensor<?x1x40xf32>, tensor<?x1x40xf32>
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

// -----

// Rows of a caller's array are padded where they are read beside padded rows.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<20x45xf32> from [#attn.source<"w">]
// CHECK-LABEL: @residual
func.func @residual(%x: tensor<?x20xf32>, %r: tensor<?x45xf32>) -> tensor<?x45xf32> {
  %w = attn.parameter_slice @w : tensor<20x45xf32>
  // CHECK: %[[EXTRA:.*]] = tensor.pad %arg1
  // CHECK: %[[Y:.*]] = attn.linear %arg0, %{{.*}}, (%[[EXTRA]]) {{.*}} -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%r) : tensor<?x20xf32>, tensor<20x45xf32>, (tensor<?x45xf32>) -> tensor<?x45xf32> {
  ^bb0(%sum: f32, %e: f32):
    %s = arith.addf %sum, %e : f32
    attn.yield %s : f32
  }
  // CHECK: %[[R:.*]] = tensor.pad %arg1
  // CHECK: arith.mulf %[[Y]], %[[R]] : tensor<?x64xf32>
  %z = arith.mulf %y, %r : tensor<?x45xf32>
  return %z : tensor<?x45xf32>
}

// A matmul that gives its rows back stores them narrow, but not where it reads others by whole panels.
// CHECK-LABEL: @returned
func.func @returned(%x: tensor<?x20xf32>, %r: tensor<?x45xf32>) -> (tensor<?x45xf32>, tensor<?x45xf32>) {
  %w = attn.parameter_slice @w : tensor<20x45xf32>
  // CHECK: attn.linear {{.*}} -> tensor<?x45xf32>
  %y = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  // CHECK: attn.linear {{.*}} -> tensor<?x64xf32>
  %z = attn.linear %x, %w, (%r) : tensor<?x20xf32>, tensor<20x45xf32>, (tensor<?x45xf32>) -> tensor<?x45xf32> {
  ^bb0(%sum: f32, %e: f32):
    %s = arith.addf %sum, %e : f32
    attn.yield %s : f32
  }
  return %y, %z : tensor<?x45xf32>, tensor<?x45xf32>
}
}

// -----

// A weight that an op of attn computes is packed and transposed as one that linalg computes.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]
// CHECK-LABEL: @computed
func.func @computed(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @w : tensor<64x64xf32>
  // CHECK: %[[V:.*]] = arith.mulf
  %v = arith.mulf %w, %w : tensor<64x64xf32>
  // CHECK: %[[P:.*]] = linalg.pack %[[V]] {{.*}} inner_dims_pos = [0]
  // CHECK: attn.linear %arg0, %[[P]] {layout
  %y = attn.linear %x, %v transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

// Computed matrices of heads, of whole panels each, are packed as one.
module attributes {attn.model = {family = "any"}} {
attn.parameter @w : tensor<192x40xf32> from [#attn.source<"w">]
// CHECK-LABEL: @computed_heads
func.func @computed_heads(%x: tensor<?x3x40xf32>) -> tensor<?x3x64xf32> {
  %w = attn.parameter_slice @w : tensor<192x40xf32>
  // CHECK: %[[V:.*]] = arith.mulf
  %v = arith.mulf %w, %w : tensor<192x40xf32>
  // CHECK: %[[P:.*]] = linalg.pack {{.*}} inner_dims_pos = [0] inner_tiles = [32] into %{{.*}} : tensor<192x40xf32> -> tensor<6x40x32xf32>
  // CHECK: attn.linear %{{.*}}, %[[P]] {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3x{{.*}}xf32>, tensor<6x40x32xf32> -> tensor<?x3x64xf32>
  %y = attn.linear %x, %v transposed : tensor<?x3x40xf32>, tensor<192x40xf32> -> tensor<?x3x64xf32>
  return %y : tensor<?x3x64xf32>
}
}

// -----

// A rotation counts pairs by the columns of its cosines and sines, whose padding is cut off. Near miss: the heads that it rotates have padding.
// CHECK-LABEL: @angles
module attributes {attn.model = {family = "any"}} {
func.func @angles(%x: tensor<?x2x20xf32>, %a: tensor<?x5xf32>) -> tensor<?x2x20xf32> {
  %b = linalg.abs ins(%a : tensor<?x5xf32>) outs(%a : tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: %[[TABLE:.*]] = math.sqrt %{{.*}} : tensor<?x32xf32>
  %table = math.sqrt %b : tensor<?x5xf32>
  %y = linalg.abs ins(%x : tensor<?x2x20xf32>) outs(%x : tensor<?x2x20xf32>) -> tensor<?x2x20xf32>
  // CHECK: %[[COS:.*]] = tensor.extract_slice %[[TABLE]][0, 0] [%{{.*}}, 5] [1, 1] : tensor<?x32xf32> to tensor<?x5xf32>
  // CHECK: %[[SIN:.*]] = tensor.extract_slice %[[TABLE]][0, 0] [%{{.*}}, 5] [1, 1] : tensor<?x32xf32> to tensor<?x5xf32>
  // CHECK: %[[HEADS:.*]] = tensor.pad {{.*}} high[0, 0, 12]
  // CHECK: attn.rope %[[HEADS]], %[[COS]], %[[SIN]] : tensor<?x2x32xf32>, tensor<?x5xf32>
  %0 = attn.rope %y, %table, %table : tensor<?x2x20xf32>, tensor<?x5xf32>
  return %0 : tensor<?x2x20xf32>
}
}
