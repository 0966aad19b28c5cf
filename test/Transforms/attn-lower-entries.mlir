// RUN: rapt-opt %s --attn-lower-entries | FileCheck %s

attn.dim @n min 0 max 64
attn.parameter @w layers 3 : tensor<3x64xf32> from [#attn.source<"{layer}.w">] {offset = 256 : i64, stride = 512 : i64}

// A result with an argument's name is that argument, updated in place; another one is an output of the caller.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[ENV:[a-z0-9]+]]: !llvm.ptr {attn.name = "env"}, %[[W:[a-z0-9]+]]: memref<?xi8> {attn.name = "weights"}, %{{[a-z0-9]+}}: memref<?xi8> {attn.name = "workspace"},
// CHECK-SAME: %[[STATE:[a-z0-9]+]]: memref<4xf32> {attn.name = "state"}, %[[X:[a-z0-9]+]]: memref<?xf32> {attn.dims = ["n"], attn.name = "x"},
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<64xf32> {attn.name = "y"}) -> i32
// CHECK-SAME: attn.buffers = [{attn.name = "weights", kind = "weights"{{.*}}kind = "workspace"{{.*}}kind = "cache"{{.*}}kind = "input"{{.*}}kind = "output"
func.func @step(%state: tensor<4xf32> {attn.name = "state"}, %x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]})
    -> (tensor<4xf32> {attn.name = "state"}, tensor<64xf32> {attn.name = "y"}) attributes {attn.entry} {
  // CHECK: bufferization.to_tensor %[[STATE]] restrict writable
  // CHECK: bufferization.to_tensor %[[X]] restrict :
  // CHECK: %[[STRIDE:.*]] = arith.constant 512 : index
  // CHECK: %[[SKIP:.*]] = arith.muli %{{.*}}, %[[STRIDE]]
  // CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %[[SKIP]]
  // CHECK: memref.view %[[W]][%[[PLACE]]][] : memref<?xi8> to memref<64xf32>
  %layer = arith.constant 2 : index
  %w = attn.parameter_slice @w[%layer] : tensor<64xf32>
  // CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[STATE]]
  // CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT]]
  // CHECK: return %{{.*}} : i32
  return %state, %w : tensor<4xf32>, tensor<64xf32>
}
