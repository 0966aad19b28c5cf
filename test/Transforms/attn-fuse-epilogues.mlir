// RUN: rapt-opt %s --attn-fuse-epilogues --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-fuse-epilogues --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=SAYS
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.activation
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=arith.addf
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.glu
// SAYS: [Missed] fuse-epilogue | Category:fusion | Reason="attn.activation: its matmul has several users"
// SAYS: [Missed] fuse-epilogue | Category:fusion | Reason="arith.addf: its matmul is in another block"
// SAYS: [Missed] fuse-epilogue | Category:fusion | Reason="arith.addf: no operand is a matmul"
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.activation
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=arith.addf
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=arith.extf
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=math.tanh
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=arith.mulf
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.glu
// SAYS: [Passed] fuse-epilogue | Category:fusion | Fused=attn.clip
// SAYS-NOT: {{.}}

// The bias stays, the activation and then the residual sum join it, in this order.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  %a = attn.activation relu %y : tensor<?x64xf32>
  %z = arith.addf %x, %a : tensor<?x64xf32>
  // CHECK: %[[Z:.*]] = attn.linear %arg0, %arg1, (%arg2, %arg0)
  // CHECK: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[X:.*]]: f32):
  // CHECK: %[[BIASED:.*]] = arith.addf %[[SUM]], %[[BIAS]]
  // CHECK: %[[ACTIVE:.*]] = arith.maximumf %[[BIASED]]
  // CHECK: arith.addf %[[X]], %[[ACTIVE]]
  // CHECK: return %[[Z]]
  return %z : tensor<?x64xf32>
}

// -----

// A matmul moves down to where the other operand exists.
// CHECK-LABEL: @later_operand
func.func @later_operand(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.linear
  // CHECK: attn.linear {{.*}} -> tensor<?x64xf32> {
  // CHECK-NOT: attn.glu
  %gate = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %z = attn.glu silu %gate, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// Near miss: the matmul is read twice, so its plain value must exist.
// CHECK-LABEL: @used_twice
func.func @used_twice(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: attn.activation gelu
  %z = attn.activation gelu %y : tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Near miss: the matmul is in the function, the activation in a loop.
// CHECK-LABEL: @other_block
func.func @other_block(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %n: index) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x64xf32>) {
    // CHECK: arith.addf
    %z = arith.addf %a, %y : tensor<?x64xf32>
    scf.yield %z : tensor<?x64xf32>
  }
  return %r : tensor<?x64xf32>
}

// -----

// Near miss: nothing but what the caller gives, as an embedding and its positions.
// CHECK-LABEL: @no_matmul
func.func @no_matmul(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: arith.addf
  %z = arith.addf %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// A matmul whose result is rounded rounds before what is fused behind it, which gives the last rounding to the result's type.
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %r: tensor<?x64xbf16>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %a = attn.activation relu %y : tensor<?x64xbf16>
  %z = arith.addf %a, %r : tensor<?x64xbf16>
  %c = arith.extf %z : tensor<?x64xbf16> to tensor<?x64xf32>
  // CHECK: attn.linear %arg0, %arg1, (%arg2) : tensor<?x64xbf16>, tensor<64x64xbf16>, (tensor<?x64xbf16>) -> tensor<?x64xf32> {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[R:.*]]: f32):
  // CHECK-DAG: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
  // CHECK-DAG: %[[WIDE:.*]] = arith.extf %[[ROUNDED]] : bf16 to f32
  // CHECK: %[[ACTIVE:.*]] = arith.maximumf %[[WIDE]]
  // CHECK: %[[ROUNDED2:.*]] = arith.truncf %[[ACTIVE]] : f32 to bf16
  // CHECK: %[[WIDE2:.*]] = arith.extf %[[ROUNDED2]] : bf16 to f32
  // CHECK: %[[RESULT:.*]] = arith.addf %[[WIDE2]], %[[R]]
  // CHECK: %[[ROUNDED3:.*]] = arith.truncf %[[RESULT]] : f32 to bf16
  // CHECK: %[[WIDE3:.*]] = arith.extf %[[ROUNDED3]] : bf16 to f32
  // CHECK: attn.yield %[[WIDE3]]
  return %c : tensor<?x64xf32>
}

// -----

// Arithmetic of upstream on matrices is fused as ops of attn, and keeps its attributes.
// CHECK-LABEL: @upstream
func.func @upstream(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %r: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = math.tanh %y : tensor<?x64xf32>
  %z = arith.mulf %r, %a fastmath<contract> : tensor<?x64xf32>
  // CHECK: attn.linear %arg0, %arg1, (%arg2)
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[R:.*]]: f32):
  // CHECK: %[[A:.*]] = math.tanh %[[SUM]] : f32
  // CHECK: %[[Z:.*]] = arith.mulf %[[R]], %[[A]] fastmath<contract> : f32
  // CHECK: attn.yield %[[Z]]
  return %z : tensor<?x64xf32>
}

// -----

// Rows with a matrix of several each keep their groups.
// CHECK-LABEL: @groups
func.func @groups(%x: tensor<?x64xf32>, %w: tensor<64x256xf32>, %groups: tensor<5x2xi32>) -> tensor<?x64xf32> {
  %gate = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x256xf32> groups tensor<5x2xi32> -> tensor<?x64xf32>
  %up = attn.linear %x, %w groups %groups : tensor<?x64xf32>, tensor<64x256xf32> groups tensor<5x2xi32> -> tensor<?x64xf32>
  // CHECK: %[[GATE:.*]] = attn.linear %arg0, %arg1 groups %arg2
  // CHECK: attn.linear %arg0, %arg1, (%[[GATE]]) groups %arg2 {{.*}} {
  // CHECK-NOT: attn.glu
  %z = attn.glu silu %gate, %up : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @clip
func.func @clip(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // CHECK-DAG: %[[MOST:.*]] = arith.constant 8.0
  // CHECK-DAG: %[[LEAST:.*]] = arith.constant -8.0
  // CHECK: ^bb0(%[[SUM:.*]]: f32):
  // CHECK: %[[BELOW:.*]] = arith.minimumf %[[SUM]], %[[MOST]]
  // CHECK: arith.maximumf %[[BELOW]], %[[LEAST]]
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %z = attn.clip %y within 8.0 : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
