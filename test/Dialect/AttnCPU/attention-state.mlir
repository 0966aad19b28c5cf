// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @state
func.func @state(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf16>, %v: tensor<1x64x32xf16>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                 %l: tensor<8xf32>) -> (tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = attn_cpu.attention_state %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) init(%{{.*}}, %{{.*}}, %{{.*}}) : tensor<8x16xf32>, tensor<2x16x32xf16>, tensor<1x64x32xf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %l)
    : tensor<8x16xf32>, tensor<2x16x32xf16>, tensor<1x64x32xf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: attn_cpu.attention_state {{.*}} limit(%{{.*}}) init({{.*}}) : {{.*}} mask {
  %1:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) limit(%i) init(%0#0, %0#1, %0#2)
    : tensor<8x16xf32>, tensor<2x16x32xf16>, tensor<1x64x32xf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %2 = arith.cmpi sle, %y, %x : index
      attn.yield %2 : i1
    }
  return %1#0, %1#1, %1#2 : tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @state_extras
func.func @state_extras(%q: tensor<8x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                        %l: tensor<8xf32>, %e: tensor<?x8xf32>, %t: tensor<32xi32>) -> tensor<8x32xf32> {
  // CHECK: attn_cpu.attention_state {{.*}} extras(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<32xi32>) maps [#{{.*}}, #{{.*}}] init(
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e, %t : tensor<?x8xf32>, tensor<32xi32>) maps [affine_map<(q, kv) -> (kv, q)>, affine_map<(q, kv) -> ()>] init(%acc, %m, %l)
    : tensor<8x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %y: index, %z: index, %one: f32, %table: tensor<32xi32>):
      attn.yield %one : f32
    }
  return %0#0 : tensor<8x32xf32>
}

// CHECK-LABEL: @state_additive
func.func @state_additive(%q: tensor<8x32xf32>, %k: tensor<2x32x32xf32>, %v: tensor<1x64x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %w: tensor<17xf32>) -> tensor<8x32xf32> {
  // CHECK: attn_cpu.attention_state {{.*}} additive(%{{.*}} : tensor<17xf32>) init(
  %0:3 = attn_cpu.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) additive(%w : tensor<17xf32>) init(%acc, %m, %m)
    : tensor<8x32xf32>, tensor<2x32x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}

// CHECK-LABEL: @merge_parts
func.func @merge_parts(%accs: tensor<?x8x32xf32>, %ms: tensor<?x8xf32>, %ls: tensor<?x8xf32>, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                       %l: tensor<8xf32>) -> tensor<8x32xf32> {
  // CHECK: attn_cpu.attention_merge %{{.*}}, %{{.*}}, %{{.*}} init(%{{.*}}, %{{.*}}, %{{.*}}) : tensor<?x8x32xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  %0:3 = attn_cpu.attention_merge %accs, %ms, %ls init(%acc, %m, %l)
    : tensor<?x8x32xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}
