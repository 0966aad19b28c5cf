// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[$MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$KN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>

// Zeros, sums in f32 whose innermost loop goes along a row of the weight, and the epilogue as one op in the place of the sums' own
// uninitialized tensor. A bias that is longer than the result is cut.
// CHECK-LABEL: @epilogue
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<64x80xbf16>, %[[B:.*]]: tensor<96xf32>, %[[R:.*]]: tensor<?x80xf32>
func.func @epilogue(%x: tensor<?x64xf32>, %w: tensor<64x80xbf16>, %b: tensor<96xf32>, %r: tensor<?x80xf32>) -> tensor<?x80xf32> {
  // CHECK: %[[ROOM:.*]] = tensor.empty
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%[[ROOM]] :
  // CHECK: %[[SUMS:.*]] = linalg.generic {indexing_maps = [#[[$MK]], #[[$KN]], #[[$MN]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]], %[[W]] : {{.*}} outs(%[[ZEROS]] : tensor<?x80xf32>)
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: %[[BIAS:.*]] = tensor.extract_slice %[[B]][0] [80] [1]
  // CHECK: linalg.generic {indexing_maps = [#[[$BOTH]], #[[$COLUMN]], #[[$BOTH]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[SUMS]], %[[BIAS]], %[[R]] : {{.*}} outs(%[[ROOM]] :
  %y = attn.linear %x, %w, (%b, %r) : tensor<?x64xf32>, tensor<64x80xbf16>, (tensor<96xf32>, tensor<?x80xf32>) -> tensor<?x80xf32> {
  ^bb0(%sum: f32, %bias: f32, %residual: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = arith.addf %0, %residual : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x80xf32>
}

// -----

// CHECK-DAG: #[[$MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// A transposed weight is another map, not a copy, and the innermost loop goes along its rows. Without an epilogue there is one op with sums.
// CHECK-LABEL: @transposed
func.func @transposed(%x: tensor<?x64xf32>, %w: tensor<80x64xf32>) -> tensor<?x80xf32> {
  // CHECK: linalg.generic {indexing_maps = [#[[$MK]], #[[$NK]], #[[$MN]]], iterator_types = ["parallel", "parallel", "reduction"]}
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %y = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<80x64xf32> -> tensor<?x80xf32>
  return %y : tensor<?x80xf32>
}

// -----

// Near miss: a bias as long as the result is read whole.
// CHECK-LABEL: @whole_bias
func.func @whole_bias(%x: tensor<?x64xf32>, %w: tensor<64x80xf32>, %b: tensor<80xf32>) -> tensor<?x80xf32> {
  // CHECK-NOT: tensor.extract_slice
  // CHECK: return
  %y = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x80xf32>, (tensor<80xf32>) -> tensor<?x80xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x80xf32>
}

// -----

// CHECK: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// Elementwise ops are one op each, and none of their operands is overwritten.
// CHECK-LABEL: @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[Y:.*]]: tensor<?x50xf32>
func.func @elementwise(%x: tensor<?x50xf32>, %y: tensor<?x50xf32>) -> tensor<?x50xf32> {
  // CHECK: %[[ROOM:.*]] = tensor.empty
  // CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[$BOTH]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]] : {{.*}} outs(%[[ROOM]] :
  // CHECK: arith.maximumf
  // CHECK: %[[SECOND:.*]] = tensor.empty
  // CHECK: linalg.generic {indexing_maps = [#[[$BOTH]], #[[$BOTH]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[R]], %[[Y]] : {{.*}} outs(%[[SECOND]] :
  // CHECK: arith.addf
  %0 = attn.activation relu %x : tensor<?x50xf32>
  %1 = arith.addf %0, %y : tensor<?x50xf32>
  return %1 : tensor<?x50xf32>
}

// -----

// Sums are f32 in a tensor of their own where the result is rounded, once.
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<?x64xbf16>, %w: tensor<64x80xf16>) -> tensor<?x80xbf16> {
  // CHECK: %[[ROOM:.*]] = tensor.empty({{.*}}) : tensor<?x80xbf16>
  // CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x80xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[SUMS]] : tensor<?x80xf32>) outs(%[[ROOM]] : tensor<?x80xbf16>)
  // CHECK: arith.truncf
  // CHECK: return
  %y = attn.linear %x, %w : tensor<?x64xbf16>, tensor<64x80xf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// Casts of upstream are decomposed as elementwise ops of attn, whatever their rank is.
// CHECK-LABEL: @cast
func.func @cast(%x: tensor<?x3x5xbf16>) -> tensor<?x3x5xf16> {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x3x5xbf16>) outs(%{{.*}} : tensor<?x3x5xf32>)
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  %0 = arith.extf %x : tensor<?x3x5xbf16> to tensor<?x3x5xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x3x5xf32>) outs(%{{.*}} : tensor<?x3x5xf16>)
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %1 = arith.truncf %0 : tensor<?x3x5xf32> to tensor<?x3x5xf16>
  return %1 : tensor<?x3x5xf16>
}
