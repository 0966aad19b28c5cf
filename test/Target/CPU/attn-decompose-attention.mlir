// RUN: rapt-opt %s --attn-decompose-attention --split-input-file | FileCheck %s

// Two products around a softmax of one row at a time. Without a mask no score is compared with anything.
// CHECK-LABEL: @plain
func.func @plain(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                 %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>)
    -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: linalg.matmul ins(%{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>)
  // CHECK-NOT: arith.cmpi
  // CHECK: math.exp2 %{{.*}} : f32
  // CHECK: math.exp2 %{{.*}} : vector<32xf32>
  // CHECK: linalg.matmul ins(%{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>)
  %0:3 = attn.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l)
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1, %0#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Score region, limit and mask on 32 keys at once, with 32-bit indices; what is masked becomes -inf.
// CHECK-LABEL: @regions
func.func @regions(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index,
                   %acc: tensor<1x32xf32>, %m: tensor<1xf32>, %l: tensor<1xf32>) -> tensor<1x32xf32> {
  // CHECK: math.tanh %{{.*}} : vector<32xf32>
  // CHECK: arith.cmpi slt, {{.*}} : vector<32xi32>
  // CHECK: arith.cmpi sle, {{.*}} : vector<32xi32>
  // CHECK: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
  %0:3 = attn.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%i) init(%acc, %m, %l)
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index):
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %keep = arith.cmpi sle, %y, %x : index
      attn.yield %keep : i1
    }
  return %0#0 : tensor<1x32xf32>
}
