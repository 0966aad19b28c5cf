// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
#slope = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, g)>

// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x96xf32>) -> (tensor<?x64xf32>, tensor<?x2x16xf32>) {
  // CHECK: %{{.*}}:2 = attn.split_heads %{{.*}} : tensor<?x96xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>
  %q, %k = attn.split_heads %x : tensor<?x96xf32> -> tensor<?x4x16xf32>, tensor<?x2x16xf32>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %0 = attn.merge_heads %q : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %0, %k : tensor<?x64xf32>, tensor<?x2x16xf32>
}

// CHECK-LABEL: @plain
func.func @plain(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) -> tensor<?x2x3x8xf32> {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} maps [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  // CHECK-NEXT: return
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
  return %0 : tensor<?x2x3x8xf32>
}

// CHECK-LABEL: @everything
func.func @everything(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32, %n: tensor<?xi32>, %slope: tensor<2x3xf32>)
    -> tensor<?x2x3x8xf32> {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} q_begin(%{{.*}} : tensor<?xi32>) q_offset(%{{.*}} : tensor<?xi32>) kv_begin(%{{.*}} : tensor<?xi32>) kv_length(%{{.*}} : tensor<?xi32>) extras(%{{.*}} : tensor<2x3xf32>) maps
  // CHECK-SAME: score {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32):
  // CHECK: attn.yield %{{.*}} : f32
  // CHECK-NEXT: } mask {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32):
  // CHECK: attn.yield %{{.*}} : i1
  // CHECK-NEXT: }
  %0 = attn.attention %q, %k, %v, %s q_begin(%n : tensor<?xi32>) q_offset(%n : tensor<?xi32>) kv_begin(%n : tensor<?xi32>) kv_length(%n : tensor<?xi32>)
      extras(%slope : tensor<2x3xf32>) maps [#q, #k, #v, #o, #slope]
    : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %m: f32):
      %1 = arith.mulf %x, %m : f32
      attn.yield %1 : f32
    }
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %m: f32):
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return %0 : tensor<?x2x3x8xf32>
}

// A mask may stand without a score.
// CHECK-LABEL: @mask_only
func.func @mask_only(%q: tensor<?x2x3x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %s: f32) -> tensor<?x2x3x8xf32> {
  // CHECK: attn.attention
  // CHECK-NOT: score
  // CHECK-SAME: mask {
  %0 = attn.attention %q, %k, %v, %s maps [#q, #k, #v, #o] : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x3x8xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return %0 : tensor<?x2x3x8xf32>
}

// CHECK-LABEL: @state
func.func @state(%q: tensor<8x16xf32>, %k: tensor<?x16xbf16>, %v: tensor<?x32xbf16>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                 %l: tensor<8xf32>) -> (tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = attn.attention_state %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) init(%{{.*}}, %{{.*}}, %{{.*}}) : tensor<8x16xf32>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%acc, %m, %l)
    : tensor<8x16xf32>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: attn.attention_state {{.*}} init({{.*}}) : {{.*}} mask {
  %1:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%0#0, %0#1, %0#2)
    : tensor<8x16xf32>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %2 = arith.cmpi sle, %y, %x : index
      attn.yield %2 : i1
    }
  return %1#0, %1#1, %1#2 : tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
}

// A table is an extra operand with an empty map.
#qh = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#kh = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#vh = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#oh = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#table = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
// CHECK-LABEL: @lookup
func.func @lookup(%q: tensor<?x4x16xf32>, %s: f32, %t: tensor<4x32xf32>) -> tensor<?x4x16xf32> {
  %0 = attn.attention %q, %q, %q, %s extras(%t : tensor<4x32xf32>) maps [#qh, #kh, #vh, #oh, #table] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %bias: tensor<4x32xf32>):
      // CHECK: attn.lookup %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x32xf32> -> f32
      %1 = attn.lookup %bias[%h, %j] : tensor<4x32xf32> -> f32
      attn.yield %1 : f32
    }
  return %0 : tensor<?x4x16xf32>
}

// CHECK-LABEL: @state_extras
func.func @state_extras(%q: tensor<8x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                        %l: tensor<8xf32>, %e: tensor<?x8xf32>, %t: tensor<32xi32>) -> tensor<8x32xf32> {
  // CHECK: attn.attention_state {{.*}} extras(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<32xi32>) maps [#{{.*}}, #{{.*}}] init(
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%e, %t : tensor<?x8xf32>, tensor<32xi32>) maps [affine_map<(q, kv) -> (kv, q)>, affine_map<(q, kv) -> ()>] init(%acc, %m, %l)
    : tensor<8x16xf32>, tensor<?x16xf32>, tensor<?x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %y: index, %z: index, %one: f32, %table: tensor<32xi32>):
      attn.yield %one : f32
    }
  return %0#0 : tensor<8x32xf32>
}

// Bahdanau's similarity.
// CHECK-LABEL: @additive
func.func @additive(%q: tensor<?x4x16xf32>, %s: f32, %v: tensor<16xf32>, %begin: tensor<?xi32>) -> tensor<?x4x16xf32> {
  // CHECK: attn.attention {{.*}} kv_begin(%{{.*}} : tensor<?xi32>) additive(%{{.*}} : tensor<16xf32>) maps
  %0 = attn.attention %q, %q, %q, %s kv_begin(%begin : tensor<?xi32>) additive(%v : tensor<16xf32>) maps [#qh, #kh, #vh, #oh] : tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return %0 : tensor<?x4x16xf32>
}

// CHECK-LABEL: @state_additive
func.func @state_additive(%q: tensor<8x32xf32>, %k: tensor<40x32xf32>, %v: tensor<40x32xf32>, %s: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %w: tensor<32xf32>) -> tensor<8x32xf32> {
  // CHECK: attn.attention_state {{.*}} additive(%{{.*}} : tensor<32xf32>) init(
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) additive(%w : tensor<32xf32>) init(%acc, %m, %m)
    : tensor<8x32xf32>, tensor<40x32xf32>, tensor<40x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}

// CHECK-LABEL: @merge_parts
func.func @merge_parts(%accs: tensor<?x8x32xf32>, %ms: tensor<?x8xf32>, %ls: tensor<?x8xf32>, %acc: tensor<8x32xf32>, %m: tensor<8xf32>,
                       %l: tensor<8xf32>) -> tensor<8x32xf32> {
  // CHECK: attn.attention_merge %{{.*}}, %{{.*}}, %{{.*}} init(%{{.*}}, %{{.*}}, %{{.*}}) : tensor<?x8x32xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  %0:3 = attn.attention_merge %accs, %ms, %ls init(%acc, %m, %l)
    : tensor<?x8x32xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}
