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

// A result that is an argument is stored before the argument is overwritten.
// CHECK-LABEL: func.func @old(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {attn.name = "a"}, %[[OUT:[a-z0-9]+]]: memref<4xf32> {attn.name = "out"}
func.func @old(%a: tensor<4xf32> {attn.name = "a"}) -> (tensor<4xf32> {attn.name = "a"}, tensor<4xf32> {attn.name = "out"}) attributes {attn.entry} {
  // CHECK: %[[NEW:.*]] = math.tanh
  // CHECK-NOT: bufferization.alloc_tensor
  // CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT]]
  // CHECK: bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[A]]
  %0 = math.tanh %a : tensor<4xf32>
  return %0, %a : tensor<4xf32>, tensor<4xf32>
}

// Two results that exchange the memory of two arguments: no order is right, so one is copied.
// CHECK-LABEL: func.func @exchange(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {attn.name = "a"}, %[[B:[a-z0-9]+]]: memref<4xf32> {attn.name = "b"}) -> i32
func.func @exchange(%a: tensor<4xf32> {attn.name = "a"}, %b: tensor<4xf32> {attn.name = "b"})
    -> (tensor<4xf32> {attn.name = "a"}, tensor<4xf32> {attn.name = "b"}) attributes {attn.entry} {
  // CHECK: %[[TA:.*]] = bufferization.to_tensor %[[A]]
  // CHECK: %[[TB:.*]] = bufferization.to_tensor %[[B]]
  // CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[TA]])
  // CHECK: bufferization.materialize_in_destination %[[TB]] in restrict writable %[[A]]
  // CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[B]]
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// An output that loops fill is made in the caller's memory.
// CHECK-LABEL: func.func @made_in_place(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<?x4xf32> {attn.dims = ["n"], attn.name = "y"}) -> i32
func.func @made_in_place(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]})
    -> (tensor<?x4xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
  // CHECK: %[[MADE:.*]] = bufferization.to_tensor %[[Y]] restrict writable
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[MADE]])
  // CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[Y]]
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y = scf.forall (%i) in (%n) shared_outs(%o = %e) -> tensor<?x4xf32> {
    %row = tensor.splat %f0 : tensor<1x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %row into %o[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<?x4xf32>
    }
  }
  return %y : tensor<?x4xf32>
}

// Near miss: two outputs begin as one tensor, which cannot be the memory of both.
// CHECK-LABEL: func.func @made_of_one(
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[E]])
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[E]])
func.func @made_of_one(%x: tensor<4xf32> {attn.name = "x"})
    -> (tensor<4xf32> {attn.name = "y"}, tensor<4xf32> {attn.name = "z"}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %e) -> tensor<4xf32> {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %next = tensor.insert %v into %o[%i] : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  %z = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %e) -> tensor<4xf32> {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %w = arith.addf %v, %v : f32
    %next = tensor.insert %w into %o[%i] : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// The parts of a cache are views of the caller's memory, from their byte of each block on, and are written where they lie.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x256xi8> {attn.cache = {{.*}}, attn.name = "cache"}) -> i32
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %[[C]] {{\[\[}}0, 1]] : memref<?x256xi8> into memref<?xi8>
// CHECK: %[[HALVES:.*]] = memref.view %[[FLAT]]{{.*}} : memref<?xi8> to memref<?x128xbf16>
// CHECK: %[[KEYS:.*]] = memref.subview %[[HALVES]][0, 0] [%{{.*}}, 32] [1, 1]
// CHECK: %[[K:.*]] = memref.expand_shape %[[KEYS]] {{.*}} into memref<?x2x16xbf16, strided<[128, 16, 1]>>
// CHECK: bufferization.to_tensor %[[K]] restrict writable
// CHECK: %[[WORDS:.*]] = memref.view {{.*}} : memref<?xi8> to memref<?x64xf32>
// CHECK: %[[VALUES:.*]] = memref.subview %[[WORDS]][0, 16] [%{{.*}}, 48] [1, 1]
// CHECK: %[[V:.*]] = memref.expand_shape %[[VALUES]] {{.*}} into memref<?x3x16xf32, strided<[64, 16, 1], offset: 16>>
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[K]]
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[V]]
// CHECK-NOT: attn.cache_
func.func @parts(%c: tensor<?x256xi8> {attn.name = "cache", attn.dims = ["n"], attn.cache = !attn.kv_cache<[1 x 1 x (1 x bf16, 1 x f32)], block = 1>})
    -> (tensor<?x256xi8> {attn.name = "cache"}) attributes {attn.entry} {
  %k, %v = attn.cache_parts %c at [0, 64] : tensor<?x256xi8> -> tensor<?x2x16xbf16>, tensor<?x3x16xf32>
  %j = attn.cache_join %k, %v into %c at [0, 64] : tensor<?x2x16xbf16>, tensor<?x3x16xf32> into tensor<?x256xi8>
  return %j : tensor<?x256xi8>
}

// So is one that both sides of a branch fill.
// CHECK-LABEL: func.func @made_by_branches(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<?x4xf32> {attn.dims = ["n"], attn.name = "y"}) -> i32
func.func @made_by_branches(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x4xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
  // CHECK: %[[MADE:.*]] = bufferization.to_tensor %[[Y]] restrict writable
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[MADE]])
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[MADE]])
  // CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[Y]]
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %few = arith.cmpi sle, %n, %c16 : index
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y = scf.if %few -> (tensor<?x4xf32>) {
    %one = scf.forall (%i) in (%n) shared_outs(%o = %e) -> (tensor<?x4xf32>) {
    }
    scf.yield %one : tensor<?x4xf32>
  } else {
    %other = scf.forall (%i) in (%n) shared_outs(%o = %e) -> (tensor<?x4xf32>) {
    }
    scf.yield %other : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// Near misses: the sides fill different tensors, and something else is made in the tensor.
// CHECK-LABEL: func.func @made_apart(
// CHECK: tensor.empty
// CHECK: tensor.empty
// CHECK: materialize_in_destination
func.func @made_apart(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x4xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %few = arith.cmpi sle, %n, %c16 : index
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = tensor.empty(%n) : tensor<?x4xf32>
  %y = scf.if %few -> (tensor<?x4xf32>) {
    scf.yield %e : tensor<?x4xf32>
  } else {
    scf.yield %f : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}
// CHECK-LABEL: func.func @made_and_read(
// CHECK: tensor.empty
// CHECK: materialize_in_destination
func.func @made_and_read(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x4xf32> {attn.name = "y", attn.dims = ["n"]}, tensor<?x4xf32> {attn.name = "z", attn.dims = ["n"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %few = arith.cmpi sle, %n, %c16 : index
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %z = math.tanh %e : tensor<?x4xf32>
  %y = scf.if %few -> (tensor<?x4xf32>) {
    scf.yield %e : tensor<?x4xf32>
  } else {
    scf.yield %e : tensor<?x4xf32>
  }
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}
