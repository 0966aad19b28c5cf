// RUN: rapt-opt --canonicalize %s | FileCheck %s

// Casts of a state's operands are folded, with and without regions, and casts of its destinations move behind it.
// CHECK-LABEL: @operands
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<2x64x32xf32>, %[[VALUE:[a-z0-9]+]]: tensor<2x64x32xf32>
func.func @operands(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %s: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>) -> tensor<8x64xf32> {
  %keys = tensor.cast %k : tensor<2x64x32xf32> to tensor<?x64x32xf32>
  %values = tensor.cast %v : tensor<2x64x32xf32> to tensor<2x?x32xf32>
  // CHECK-NOT: tensor.cast
  // CHECK: %[[STATE:.*]], %{{.*}}, %{{.*}} = attn_cpu.attention_state %{{.*}}, %[[KEY]], %[[VALUE]], {{.*}} : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>,
  %0:3 = attn_cpu.attention_state %q, %keys, %values, %s at(%i, %i, %i, %i) limit(%i) init(%acc, %m, %m)
    : tensor<8x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: attn_cpu.attention_state {{.*}} init(%[[STATE]],
  // CHECK-SAME: mask {
  %1:3 = attn_cpu.attention_state %q, %keys, %values, %s at(%i, %i, %i, %i) init(%0#0, %0#1, %0#2)
    : tensor<8x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
    mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %keep = arith.cmpi sle, %y, %x : index
      attn.yield %keep : i1
    }
  return %1#0 : tensor<8x64xf32>
}

// CHECK-LABEL: @destinations
func.func @destinations(%q: tensor<?x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %s: f32, %i: index,
                        %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %sum: tensor<?xf32>) -> (tensor<?x64xf32>, tensor<?xf32>) {
  %wide = tensor.cast %acc : tensor<8x64xf32> to tensor<?x64xf32>
  // CHECK: %[[STATE:.*]], %[[MAX:.*]], %{{.*}} = attn_cpu.attention_state {{.*}} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<?xf32>
  // CHECK: %[[WIDE:.*]] = tensor.cast %[[STATE]] : tensor<8x64xf32> to tensor<?x64xf32>
  // CHECK: return %[[WIDE]],
  %max = tensor.cast %m : tensor<8xf32> to tensor<?xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%wide, %max, %sum)
    : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
  return %0#0, %0#1 : tensor<?x64xf32>, tensor<?xf32>
}
