// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s
#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// A fused dual matmul: a task computes a panel of both, and the one that the epilogue reads is never whole.
// CHECK-LABEL: @gated
func.func @gated(%x: tensor<?x64xf32>, %v: tensor<3x64x32xf32>, %w: tensor<3x64x32xf32>, %b: tensor<96xf32>) -> tensor<?x96xf32> {
  // CHECK: tensor.empty(%{{.*}}) : tensor<?x96xf32>
  // CHECK-NOT: tensor<?x96xf32>
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 3) shared_outs
  // CHECK: %[[ROOM:.*]] = tensor.empty() : tensor<12x32xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x64xf32>, tensor<64x32xf32>)
  // CHECK: arith.addf
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x64xf32>, tensor<64x32xf32>)
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  // CHECK: scf.forall.in_parallel
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %up = attn.linear %x, %v, (%b) {attn.schedule = #linear, attn_cpu.fused_into = #attn_cpu.root<consumer>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32>, (tensor<96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32>, (tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x96xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5>

// With k blocks, the partial accumulators of both are in one scratch buffer: a task has two panels of each.
// CHECK-LABEL: @deep
func.func @deep(%x: tensor<?x2048xf32>, %v: tensor<3x2048x32xf32>, %w: tensor<3x2048x32xf32>) -> tensor<?x96xf32> {
  // CHECK: arith.select %{{.*}}, %{{.*}}, %c1
  // CHECK: tensor.empty() : tensor<48x32xf32>
  // CHECK: scf.for {{.*}} to %c2048{{.*}} step %c512
  // CHECK: tensor.extract_slice %arg2
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x512xf32>, tensor<512x32xf32>)
  // CHECK: tensor.extract_slice %arg1
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x512xf32>, tensor<512x32xf32>)
  // CHECK: arith.mulf
  // CHECK: scf.forall.in_parallel
  %up = attn.linear %x, %v {attn.schedule = #linear, attn_cpu.fused_into = #attn_cpu.root<consumer>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<3x2048x32xf32> -> tensor<?x96xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<3x2048x32xf32>, (tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x96xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Two extra operands that matmuls make: one is fused.
// CHECK-LABEL: @two
func.func @two(%x: tensor<?x64xf32>, %u: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-COUNT-2: scf.forall (
  // CHECK-NOT: scf.forall (
  %a = attn.linear %x, %u {attn.schedule = #linear, attn_cpu.fused_into = #attn_cpu.root<consumer>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %b = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%a, %b) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %first: f32, %second: f32):
    %0 = arith.mulf %first, %second : f32
    %1 = arith.mulf %sum, %0 : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Without the attribute there are two dispatches, the second of which overwrites what the first one made.
// CHECK-LABEL: @unfused
func.func @unfused(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[UP:.*]] = scf.forall (
  // CHECK: scf.forall ({{.*}}) in ({{.*}}) shared_outs(%{{.*}} = %[[UP]])
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}
