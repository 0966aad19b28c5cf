// RUN: rapt-opt %s --attn-decompose-attention --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// Query rows at multiples of 4 KiB alias in L1, so matmuls read a scaled copy.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @aliasing
func.func @aliasing(%all: tensor<?x1024xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %i: index, %acc: tensor<8x64xf32>,
                    %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  // CHECK: tensor.extract_slice
  // CHECK: arith.mulf %{{.*}} : vector<32xf32>
  // CHECK: attn_cpu.panel_matmul
  // CHECK-NOT: arith.mulf %{{.*}} : vector<32xf32>
  // CHECK: %[[BELOW:.*]] = arith.subf %{{.*}} : vector<32xf32>
  // CHECK-NEXT: math.exp2 %[[BELOW]]
  // CHECK: attn_cpu.panel_matmul
  %scale = arith.constant 0.125 : f32
  %q = tensor.extract_slice %all[%i, 64] [8, 64] [1, 1] : tensor<?x1024xf32> to tensor<8x64xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With a negative scale the largest score is not the largest scaled score, so the query is scaled.
// CHECK-LABEL: @negative
func.func @negative(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %i: index, %acc: tensor<8x64xf32>,
                    %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  // CHECK: arith.mulf %{{.*}} : vector<32xf32>
  // CHECK: attn_cpu.panel_matmul
  // CHECK-NOT: arith.mulf %{{.*}} : vector<32xf32>
  // CHECK: %[[BELOW:.*]] = arith.subf %{{.*}} : vector<32xf32>
  // CHECK-NEXT: math.exp2 %[[BELOW]]
  // CHECK: attn_cpu.panel_matmul
  %scale = arith.constant -0.125 : f32
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}
