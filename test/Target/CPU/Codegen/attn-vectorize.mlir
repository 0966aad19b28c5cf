// RUN: rapt-opt %s --attn-vectorize | FileCheck %s

// The schedule vectorizes two rows at a time.
module attributes {attn.schedule = #attn_cpu.module_schedule<elementwise = <rows = 2>>} {
// CHECK-LABEL: @epilogue
func.func @epilogue(%x: tensor<8x32xf32>, %b: tensor<32xf32>, %t: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // CHECK: scf.for {{.*}} step %c2
  // CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2x32xf32>
  // CHECK-NOT: linalg.generic
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%x, %b : tensor<8x32xf32>, tensor<32xf32>) outs(%t : tensor<8x32xf32>) {
  ^bb0(%u: f32, %v: f32, %w: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// A fill whose only user is a matmul stays for attn-lower-matmuls.
// CHECK-LABEL: @matmul
// CHECK: linalg.fill
// CHECK: linalg.matmul
func.func @matmul(%a: tensor<2x64xf32>, %b: tensor<64x32xf32>, %c: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %f0 = arith.constant 0.0 : f32
  %z = linalg.fill ins(%f0 : f32) outs(%c : tensor<2x32xf32>) -> tensor<2x32xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<2x64xf32>, tensor<64x32xf32>) outs(%z : tensor<2x32xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}
}
