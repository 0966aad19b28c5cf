// RUN: rapt-opt %s --attn-plan-memory --split-input-file | FileCheck %s

// Two buffers of one size that are not in use together share a place; the third is in use with both.
attn.dim @n min 0 max 64
func.func private @use(%a: memref<?x8xf32>, %b: memref<?x8xf32>, %begin: index, %end: index, %worker: index) {
  return
}
// CHECK-LABEL: func.func @share
func.func @share(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                 %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  %c = memref.alloc(%n) : memref<?x8xf32>
  // CHECK: %[[A:.*]] = memref.view %arg2[%[[START:c0[_0-9]*]]][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: %[[C:.*]] = memref.view %arg2[%[[START]]][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: %[[B:.*]] = memref.view %arg2[%{{[0-9]+}}][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: attn.parallel_for @use(%[[A]], %[[B]])
  attn.parallel_for @use(%a, %b) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
  // CHECK: attn.parallel_for @use(%[[B]], %[[C]])
  attn.parallel_for @use(%b, %c) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
  return %s : i32
}

// -----

// A task's scratch: 64 bytes on the stack; 64 KiB in the workspace of the worker, after the entry's buffers.
attn.dim @n min 0 max 64
// CHECK: func.func private @small
func.func private @small(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
  %c1 = arith.constant 1 : index
  // CHECK: memref.alloca() {alignment = 64 : i64} : memref<16xf32>
  // CHECK-NEXT: scf.for
  scf.for %i = %begin to %end step %c1 {
    %t = memref.alloc() : memref<16xf32>
    memref.copy %t, %t : memref<16xf32> to memref<16xf32>
  }
  return
}
// CHECK: func.func private @large(%{{.*}}: memref<?xf32>, %[[WS:.*]]: memref<?xi8>, %[[BASE:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[WORKER:.*]]: index)
func.func private @large(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
  // CHECK: %[[SKIP:.*]] = arith.muli %[[WORKER]], %{{.*}}
  // CHECK: %[[SLICE:.*]] = arith.addi %[[BASE]], %[[SKIP]]
  // CHECK: %[[PLACE:.*]] = arith.addi %[[SLICE]], %{{.*}}
  // CHECK: memref.view %[[WS]][%[[PLACE]]][] : memref<?xi8> to memref<16384xf32>
  %t = memref.alloc() : memref<16384xf32>
  memref.copy %t, %t : memref<16384xf32> to memref<16384xf32>
  return
}
func.func @scratch(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                   %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32 attributes {attn.entry} {
  %c1 = arith.constant 1 : index
  %s = arith.constant 0 : i32
  attn.parallel_for @small(%x) count %c1 env %env : (memref<?xf32>), !llvm.ptr
  attn.parallel_for @large(%x) count %c1 env %env : (memref<?xf32>), !llvm.ptr
  return %s : i32
}
// CHECK: func.func @scratch.workspace(%{{.*}}: index, %[[WORKERS:.*]]: index) -> index
// CHECK: arith.constant 65536
// CHECK: %[[BYTES:.*]] = arith.muli %[[WORKERS]], %{{.*}}
// CHECK: %[[ALL:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// CHECK: return %[[ALL]]
