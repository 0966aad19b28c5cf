// RUN: rapt-opt %s --attn-cpu-fuse --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-cpu-fuse --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS

// Fused dual matmuls: a matmul that only another's epilogue reads, as gate and up of a gated linear unit.
// SAYS: [Passed] fuse-dual-matmul | Category:fusion | Fused="into attn.linear, which reads its result"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="the two matmuls read different activations"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="the two matmuls have weights or results of different types"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="its columns do not fill whole packed panels"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="its epilogue reads more than vectors"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="the matmul that reads it is in another block"
// SAYS: [Passed] fuse-dual-matmul | Category:fusion | Fused="into attn.linear, which reads its result"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="another matmul is fused into the one that reads it"
// SAYS: [Missed] fuse-dual-matmul | Category:fusion | Reason="the CPU's tiles do not take the matmul that would compute it"
// SAYS-NOT: {{.}}

// CHECK-LABEL: @gated
func.func @gated(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[UP:.*]] = attn.linear {{.*}} {attn_cpu.fused_into = #attn_cpu.root<consumer>, layout
  // CHECK: attn.linear %arg0, %arg2, (%[[UP]]) {layout
  %up = attn.linear %x, %v, (%b) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// Near misses.
// CHECK-LABEL: @other_rows
func.func @other_rows(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %z, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @other_type
func.func @other_type(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf16>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf16> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @narrow
func.func @narrow(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x33xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x33xf32>
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x33xf32>) -> tensor<?x33xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x33xf32>
}

// -----

// CHECK-LABEL: @residual
func.func @residual(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %x, %v, (%x) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @before_loop
func.func @before_loop(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>, %n: index) -> tensor<?x64xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x64xf32>) {
    %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %other: f32):
      %0 = arith.mulf %sum, %other : f32
      attn.yield %0 : f32
    }
    scf.yield %y : tensor<?x64xf32>
  }
  return %r : tensor<?x64xf32>
}

// -----

// Tasks compute one matmul beside their own.
// CHECK-LABEL: @two
func.func @two(%x: tensor<?x64xf32>, %u: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.linear %arg0, %arg1 {attn_cpu.fused_into
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %a = attn.linear %x, %u {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %b = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%a, %b) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %first: f32, %second: f32):
    %0 = arith.mulf %first, %second : f32
    %1 = arith.mulf %sum, %0 : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @not_tiled
func.func @not_tiled(%x: tensor<?x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %x, %v transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) transposed : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

// No matmul for an epilogue alone, and no remark.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: tensor<?x64xf32>, %v: tensor<2x64x32xf32>, %w: tensor<2x64x32xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: attn_cpu.fused_into
  // CHECK: return
  %up = attn.linear %x, %v {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %up, %y : tensor<?x64xf32>, tensor<?x64xf32>
}
