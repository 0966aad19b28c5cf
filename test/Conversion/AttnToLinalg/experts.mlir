// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// The maximum and the sum of each token come first, then its scores; an expert's search starts behind the one before.
// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<?x6xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK: math.exp
  // CHECK: arith.divf
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // NaN counts as the least number.
  // CHECK: arith.cmpf ord
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK-NOT: arith.divf
  // CHECK: return
  %w, %e = attn.route softmax %x of 6 : tensor<?x6xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
}

// -----

// Scores of each expert alone, numbers that decide, sums of groups, the groups that are kept; weights are of scores without the bias.
// CHECK-LABEL: @groups
// CHECK-SAME: %{{.*}}: tensor<?x8xf32>, %[[BIAS:.*]]: tensor<8xf32>
func.func @groups(%x: tensor<?x8xf32>, %bias: tensor<8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  // CHECK: %[[SCORES:.*]] = linalg.generic
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} ins(%[[SCORES]]
  // CHECK: tensor.extract %[[BIAS]]
  // CHECK: linalg.generic
  // CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} outs({{.*}}xi32>)
  // CHECK: linalg.generic
  // CHECK: tensor.extract %[[KEPT]]
  // CHECK: linalg.generic
  // CHECK: tensor.extract %[[SCORES]]
  // CHECK: arith.divf
  // CHECK: arith.mulf
  %w, %e = attn.route sigmoid %x, %bias of 8 within 2 of 4 groups by 2 normalized scale 2.5 : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
}

// -----

// A pair's place is the number of pairs before it: no element depends on another.
// CHECK-LABEL: @group_rows
func.func @group_rows(%e: tensor<?x2xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>) {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  %r, %p, %g = attn.group_rows %e : tensor<?x2xi32> -> tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>
  return %r, %p, %g : tensor<?xi32>, tensor<?x2xi32>, tensor<5x2xi32>
}

// -----

// CHECK-LABEL: @combine_rows
// CHECK-SAME: %[[X:.*]]: tensor<?x40xf32>, %[[W:.*]]: tensor<?x3xf32>, %[[INDICES:.*]]: tensor<?x3xi32>
func.func @combine_rows(%x: tensor<?x40xf32>, %w: tensor<?x3xf32>, %p: tensor<?x3xi32>) -> tensor<?x40xf32> {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK: scf.for
  // CHECK: tensor.extract %[[INDICES]]
  // CHECK: tensor.extract %[[W]]
  // CHECK: tensor.extract %[[X]]
  %y = attn.combine_rows %x, %w, %p : tensor<?x40xf32>, tensor<?x3xf32>, tensor<?x3xi32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

// CHECK-LABEL: @adjacent
func.func @adjacent(%x: tensor<?x40xf32>, %w: tensor<?x3xf32>) -> tensor<?x40xf32> {
  // CHECK: affine.apply
  // CHECK-NOT: i32
  // CHECK: return
  %y = attn.combine_rows %x, %w : tensor<?x40xf32>, tensor<?x3xf32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

// A row finds its group, and reads the matrix of it.
// CHECK-LABEL: @linear
// CHECK-SAME: %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<8x120xf32>, %[[GROUPS:.*]]: tensor<4x2xi32>
func.func @linear(%x: tensor<?x8xf32>, %w: tensor<8x120xf32>, %groups: tensor<4x2xi32>) -> tensor<?x40xf32> {
  // CHECK: tensor.extract %[[GROUPS]]
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  %y = attn.linear %x, %w groups %groups : tensor<?x8xf32>, tensor<8x120xf32> groups tensor<4x2xi32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

// Heads are one more loop; the weight's rows are those of all matrices.
// CHECK-LABEL: @heads
// CHECK-SAME: %[[X:.*]]: tensor<?x3x8xf32>, %[[W:.*]]: tensor<15x8xf32>
func.func @heads(%x: tensor<?x3x8xf32>, %w: tensor<15x8xf32>) -> tensor<?x3x5xbf16> {
  // CHECK: %[[MATRICES:.*]] = tensor.expand_shape %[[W]] {{.*}} : tensor<15x8xf32> into tensor<3x5x8xf32>
  // CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[X]], %[[MATRICES]]
  // CHECK: arith.addf
  // CHECK: linalg.generic {{.*}} ins(%[[SUMS]]
  // CHECK: arith.negf
  // CHECK: arith.truncf
  %y = attn.linear %x, %w transposed : tensor<?x3x8xf32>, tensor<15x8xf32> -> tensor<?x3x5xbf16> {
  ^bb0(%sum: f32):
    %0 = arith.negf %sum : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x3x5xbf16>
}
