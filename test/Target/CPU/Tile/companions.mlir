// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-cpu-tile --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS
#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// SAYS: [Passed] fuse-companion | Category:fusion | Fused="made by the tasks of the product that reads it"
// SAYS: [Passed] fuse-companion | Category:fusion | Fused="made by the tasks of the product that reads it"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="it is a product of other rows"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="its weight is of another type"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="its columns fill no panels"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="its epilogue reads more than vectors"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="it is made by no product of the same block"
// SAYS: [Passed] fuse-companion | Category:fusion | Fused="made by the tasks of the product that reads it"
// SAYS: [Missed] fuse-companion | Category:fusion | Reason="they make another product"
// SAYS-NOT: {{.}}

// A product that only another's epilogue reads is made by its tasks, a panel at a time, and never whole.
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
  %up = attn.linear %x, %v, (%b) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32>, (tensor<96xf32>) -> tensor<?x96xf32> {
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

#linear = #attn.schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5>

// With k in parts, the sums of both are in one scratch: a task has two panels of each.
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
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<3x2048x32xf32> -> tensor<?x96xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<3x2048x32xf32>, (tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x96xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: other rows.
// CHECK-LABEL: @other_rows
func.func @other_rows(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-COUNT-2: scf.forall (
  %up = attn.linear %z, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, rows = [6, 4, 2, 1], task_rows = 12, widen_rows = 9>
#linear1 = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: weights of two types.
// CHECK-LABEL: @other_type
func.func @other_type(%x: tensor<?x64xf32>, %v: tensor<2x32x64xbf16>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-COUNT-2: scf.forall (
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear1, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: the last panel is narrower.
// CHECK-LABEL: @narrow
func.func @narrow(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x33xf32> {
  // CHECK-COUNT-2: scf.forall (
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x33xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x33xf32>) -> tensor<?x33xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x33xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: its own epilogue reads rows.
// CHECK-LABEL: @rows_inside
func.func @rows_inside(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-COUNT-2: scf.forall (
  %up = attn.linear %x, %v, (%x) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.addf %sum, %other : f32
    attn.yield %0 : f32
  }
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near misses: the product is read otherwise, too; and it is made before a loop.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-COUNT-2: scf.forall (
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %up, %y : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// CHECK-LABEL: @before_loop
func.func @before_loop(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>, %n: index) -> tensor<?x64xf32> {
  // CHECK: scf.forall (
  // CHECK: scf.for
  // CHECK: scf.forall (
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x64xf32>) {
    %y = attn.linear %x, %w, (%up) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %other: f32):
      %0 = arith.mulf %sum, %other : f32
      attn.yield %0 : f32
    }
    scf.yield %y : tensor<?x64xf32>
  }
  return %r : tensor<?x64xf32>
}

// -----

#linear = #attn.schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: tasks make one product beside their own, the first that could be.
// CHECK-LABEL: @two
func.func @two(%x: tensor<?x64xf32>, %u: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-COUNT-2: scf.forall (
  // CHECK-NOT: scf.forall (
  %a = attn.linear %x, %u {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %b = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%a, %b) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %first: f32, %second: f32):
    %0 = arith.mulf %first, %second : f32
    %1 = arith.mulf %sum, %0 : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x64xf32>
}
