// RUN: rapt-opt %s --attn-merge-matmuls --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-merge-matmuls --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS

// Queries and keys are the first heads of the matmul's result; values pass.
// SAYS: remark: [Passed] fuse-rope | Category:fusion | Fused="one rotation, of 6 of 8 heads"
// CHECK-LABEL: @fused
// CHECK: %[[Y:.*]] = attn.linear
// CHECK: %[[H:.*]] = attn.split_heads %[[Y]] : tensor<?x128xf32> -> tensor<?x8x16xf32>
// CHECK: %[[R:.*]] = attn.rope %[[H]], %arg1, %arg2 heads 6 : tensor<?x8x16xf32>, tensor<?x8xf32>
// CHECK: %[[M:.*]] = attn.merge_heads %[[R]]
// CHECK: %[[P:.*]]:3 = attn.split_heads %[[M]] : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
// CHECK: return %[[P]]#0, %[[P]]#1, %[[P]]#2
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @fused(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %c, %s : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="heads that are not rotated come before those that are"
// CHECK-LABEL: @later_heads
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @later_heads(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %k = attn.rope %1#1, %c, %s : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %1#0, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its heads are read otherwise, too"
// CHECK-LABEL: @read_twice
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @read_twice(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %c, %s : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#1 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its heads are rotated by different angles"
// CHECK-LABEL: @other_angles
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @other_angles(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %s, %c : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its heads are rotated by different angles"
// CHECK-LABEL: @other_pairs
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @other_pairs(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %c, %s interleaved : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its angles are made later"
// CHECK-LABEL: @late_angles
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @late_angles(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>, %p: tensor<?xi32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001] : tensor<?xi32> -> tensor<?x8xf32>
  %q = attn.rope %1#0, %cos, %sin : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %cos, %sin : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its heads are of no matmul that they alone read"
// CHECK-LABEL: @no_matmul
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @no_matmul(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>, %y: tensor<?x128xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %y : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %c, %s : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>
}
}

// -----

// SAYS: remark: [Missed] fuse-rope | Category:fusion | Reason="its heads are of several shapes"
// CHECK-LABEL: @widths
// CHECK-NOT: heads {{[0-9]}}
// CHECK: attn.rope
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.parameter @w : tensor<64x128xf32> from [#attn.source<"w">]
func.func @widths(%x: tensor<?x64xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x1x32xf32>) {
  %w = attn.parameter_slice @w : tensor<64x128xf32>
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x128xf32> -> tensor<?x128xf32>
  %1:3 = attn.split_heads %0 : tensor<?x128xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x1x32xf32>
  %q = attn.rope %1#0, %c, %s : tensor<?x4x16xf32>, tensor<?x8xf32>
  %k = attn.rope %1#1, %c, %s : tensor<?x2x16xf32>, tensor<?x8xf32>
  return %q, %k, %1#2 : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x1x32xf32>
}
}
