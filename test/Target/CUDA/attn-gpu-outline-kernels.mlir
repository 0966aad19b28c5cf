// RUN: rapt-opt %s --attn-gpu-outline-kernels --split-input-file | FileCheck %s

// A thread takes every iteration whose number is its own plus a multiple of the number of threads. Two dispatches of one task share its kernel; dots are no part of
// names in PTX.
// CHECK: gpu.module @kernels {
// CHECK: func.func private @f.task0
// CHECK: func.func @f_task0(%[[X:.*]]: memref<?xf32>, %[[COUNT:.*]]: index) attributes {attn_host.kernel = #attn_host.kernel<threads = [[$THREADS:.*]]>}
// CHECK-DAG: gpu.thread_id x
// CHECK-DAG: gpu.block_id x
// CHECK-DAG: gpu.grid_dim x
// CHECK: scf.for %[[I:.*]] = %[[THREAD:.*]] to %[[COUNT]] step
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK: func.call @f.task0(%[[X]], %[[I]], %[[NEXT]], %[[THREAD]])
// CHECK-NOT: func.func @f_task0
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[ENV:.*]]: !llvm.ptr, %[[HOST:.*]]: memref<?xf32>, %[[N:.*]]: index
// CHECK: arith.constant [[$THREADS]] : index
// CHECK: arith.ceildivsi %[[N]]
// CHECK: arith.maxsi
// CHECK-NOT: arith.minsi
// CHECK: attn_host.launch @kernels::@f_task0(%[[HOST]], %[[N]]) blocks %{{.*}} env %[[ENV]] {attn.dispatch = 3 : i64}
// CHECK: attn_host.launch @kernels::@f_task0(
func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @f.task0(%x) count %n env %env {attn.dispatch = 3 : i64} : (memref<?xf32>), !llvm.ptr
  attn_host.parallel_for @f.task0(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
  return
}
func.func private @f.task0(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
  return
}

// -----

// A task whose scratch is in the workspace has no more threads than there are slices.
// CHECK-LABEL: func.func @scratch
// CHECK: arith.minsi
// CHECK: attn_host.launch
func.func @scratch(%env: !llvm.ptr, %x: memref<?xindex>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @scratch.task0(%x) count %n env %env : (memref<?xindex>), !llvm.ptr
  return
}
func.func private @scratch.task0(%x: memref<?xindex>, %begin: index, %end: index, %worker: index) {
  memref.store %begin, %x[%worker] : memref<?xindex>
  return
}

// -----

// Without dispatches there is no device code.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: gpu.module
func.func @nothing(%env: !llvm.ptr) attributes {attn.entry} {
  return
}

// -----

// A function may have the name that device code would have.
// CHECK: gpu.module @kernels_
// CHECK: attn_host.launch @kernels_{{[0-9]+}}::@task
func.func @kernels(%env: !llvm.ptr, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @task() count %n env %env : (), !llvm.ptr
  return
}
func.func private @task(%begin: index, %end: index, %worker: index) {
  return
}

// -----

// The iterations of a task with an op that a thread block executes are blocks of its threads, with its shared memory.
// CHECK: func.func @tiles_task0({{.*}}) attributes {attn_host.kernel = #attn_host.kernel<threads = 64, shared = 10240>}
// CHECK-NOT: tid.x
// CHECK: scf.if
// CHECK: func.call @tiles.task0
// CHECK-LABEL: func.func @tiles(
// CHECK-NOT: arith.ceildivsi
// CHECK: attn_host.launch
func.func @tiles(%env: !llvm.ptr, %x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @tiles.task0(%x, %w, %y) count %n env %env : (memref<16x40xf16>, memref<64x40xf16>, memref<16x64xf32>), !llvm.ptr
  return
}
func.func private @tiles.task0(%x: memref<16x40xf16>, %w: memref<64x40xf16>, %y: memref<16x64xf32>, %begin: index, %end: index, %worker: index) {
  attn_gpu.linear_tile %x, %w transposed outs(%y : memref<16x64xf32>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
      : memref<16x40xf16>, memref<64x40xf16>
  return
}

// -----

// Tensor maps are the first captures; a kernel gets them by value.
// CHECK: func.func @maps_task0(%{{.*}}: !llvm.ptr, %{{.*}}: memref<?x64xbf16>, %{{.*}}: index) attributes {attn_host.kernel = #attn_host.kernel<threads = 128, maps = 1>}
func.func @maps(%env: !llvm.ptr, %x: memref<?x64xbf16>, %n: index) attributes {attn.entry} {
  %map, %made = attn_host.tensor_map %x dims [1, 0] box [64, 8] swizzle 128 env %env : memref<?x64xbf16>, !llvm.ptr
  attn_host.parallel_for @maps.task0(%map, %x) count %n env %env : (!llvm.ptr, memref<?x64xbf16>), !llvm.ptr
  return
}
func.func private @maps.task0(%map: !llvm.ptr, %x: memref<?x64xbf16>, %begin: index, %end: index, %worker: index) {
  return
}

// -----

// A tile that says how many blocks there are at most is in a loop of its block, which has every nth iteration. Four warps more copy its operands.
// CHECK: func.func private @limited.task0(%{{.*}}, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: index)
// CHECK: %[[STEP:.*]] = gpu.grid_dim x
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %[[STEP]]
// CHECK: func.func @limited_task0({{.*}}, %[[COUNT:.*]]: index) attributes {attn_host.kernel = #attn_host.kernel<threads = 384, shared = 163920>}
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: scf.if
// CHECK: func.call @limited.task0({{.*}}, %[[BLOCK]], %[[COUNT]], %[[BLOCK]])
// CHECK-LABEL: func.func @limited(
// CHECK: %[[ALL:.*]] = arith.maxsi
// CHECK: %[[BLOCKS:.*]] = arith.minsi %[[ALL]], %c132
// CHECK: attn_host.launch {{.*}} blocks %[[BLOCKS]]
func.func @limited(%env: !llvm.ptr, %x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @limited.task0(%x, %w, %y) count %n env %env : (memref<128x40xf16>, memref<128x40xf16>, memref<128x128xf32>), !llvm.ptr
  return
}
func.func private @limited.task0(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 5, matmul = wgmma, blocks = 132>
        : memref<128x40xf16>, memref<128x40xf16>
  }
  return
}

// -----

// Near misses have a block for each iteration: a loop over something else, and two tiles.
// CHECK: func.func @one_task0
// CHECK-NOT: nctaid
// CHECK-LABEL: func.func @one(
// CHECK-NOT: arith.minsi
func.func @one(%env: !llvm.ptr, %x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @one.task0(%x, %w, %y) count %n env %env : (memref<128x40xf16>, memref<128x40xf16>, memref<128x128xf32>), !llvm.ptr
  attn_host.parallel_for @one.task1(%x, %w, %y) count %n env %env : (memref<128x40xf16>, memref<128x40xf16>, memref<128x128xf32>), !llvm.ptr
  return
}
func.func private @one.task0(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %end step %c1 {
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 5, matmul = wgmma, blocks = 132>
        : memref<128x40xf16>, memref<128x40xf16>
  }
  return
}
func.func private @one.task1(%x: memref<128x40xf16>, %w: memref<128x40xf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 5, matmul = wgmma, blocks = 132>
        : memref<128x40xf16>, memref<128x40xf16>
    attn_gpu.linear_tile %x, %w transposed outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 5, matmul = wgmma, blocks = 132>
        : memref<128x40xf16>, memref<128x40xf16>
  }
  return
}

// -----

// From sm_90 on a kernel is started before the one in front of it ends, and waits for that end itself.
// CHECK: func.func @overlaps_task0({{.*}}) attributes {attn_host.kernel = #attn_host.kernel<threads = {{.*}}, overlaps = true>}
// CHECK-NEXT: attn_gpu.wait_for_kernel
// CHECK-LABEL: func.func @overlaps(
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, kernels_overlap}} {
func.func @overlaps(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @overlaps.task0(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
  return
}
func.func private @overlaps.task0(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
  return
}
}

// -----

// A matmul waits behind the first copies of a weight that no kernel writes.
// CHECK: func.func private @weights.task0
// CHECK: attn_gpu.linear_tile {{.*}}constant_weight{{.*}}waits
// CHECK: func.func @weights_task0({{.*}}) attributes {attn_host.kernel = #attn_host.kernel<{{.*}}overlaps = true>}
// CHECK-NOT: attn_gpu.wait_for_kernel
// CHECK: return
// Near misses: a weight that another kernel may have written, and a task that reads something else before.
// CHECK: func.func private @activations.task0
// CHECK: attn_gpu.linear_tile
// CHECK-NOT: waits
// CHECK: func.func @activations_task0
// CHECK: attn_gpu.wait_for_kernel
// CHECK: func.func private @other.task0
// CHECK: attn_gpu.linear_tile
// CHECK-NOT: waits
// CHECK: func.func @other_task0
// CHECK: attn_gpu.wait_for_kernel
// CHECK-LABEL: func.func @f(
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, kernels_overlap}} {
func.func @f(%env: !llvm.ptr, %x: memref<16x96xbf16>, %w: memref<96x16xbf16>, %y: memref<16x16xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @weights.task0(%x, %w, %y) count %n env %env : (memref<16x96xbf16>, memref<96x16xbf16>, memref<16x16xf32>), !llvm.ptr
  attn_host.parallel_for @activations.task0(%x, %w, %y) count %n env %env : (memref<16x96xbf16>, memref<96x16xbf16>, memref<16x16xf32>), !llvm.ptr
  attn_host.parallel_for @other.task0(%x, %w, %y) count %n env %env : (memref<16x96xbf16>, memref<96x16xbf16>, memref<16x16xf32>), !llvm.ptr
  return
}
func.func private @weights.task0(%x: memref<16x96xbf16>, %w: memref<96x16xbf16>, %y: memref<16x16xf32>, %begin: index, %end: index, %worker: index) {
  attn_gpu.linear_tile %x, %w outs(%y : memref<16x16xf32>) tiles <rows = 16, columns = 16, depth = 64, warps = 1, stages = 2> {constant_weight} : memref<16x96xbf16>, memref<96x16xbf16>
  return
}
func.func private @activations.task0(%x: memref<16x96xbf16>, %w: memref<96x16xbf16>, %y: memref<16x16xf32>, %begin: index, %end: index, %worker: index) {
  attn_gpu.linear_tile %x, %w outs(%y : memref<16x16xf32>) tiles <rows = 16, columns = 16, depth = 64, warps = 1, stages = 2> : memref<16x96xbf16>, memref<96x16xbf16>
  return
}
func.func private @other.task0(%x: memref<16x96xbf16>, %w: memref<96x16xbf16>, %y: memref<16x16xf32>, %begin: index, %end: index, %worker: index) {
  %c0 = arith.constant 0 : index
  %bias = memref.load %y[%c0, %c0] : memref<16x16xf32>
  attn_gpu.linear_tile %x, %w outs(%y : memref<16x16xf32>) tiles <rows = 16, columns = 16, depth = 64, warps = 1, stages = 2> {constant_weight} : memref<16x96xbf16>, memref<96x16xbf16> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %0 = arith.addf %sum, %bias : f32
    attn_gpu.yield %0 : f32
  }
  return
}
}
