// RUN: rapt-opt %s --attn-plan-memory --split-input-file | FileCheck %s

// Two buffers of one size that are not in use together share an offset; the third is in use with both.
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
  // CHECK: %[[B:.*]] = memref.view %arg2[%{{[0-9]+}}][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: %[[C:.*]] = memref.view %arg2[%[[START]]][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: attn_host.parallel_for @use(%[[A]], %[[B]])
  attn_host.parallel_for @use(%a, %b) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
  // CHECK: attn_host.parallel_for @use(%[[B]], %[[C]])
  attn_host.parallel_for @use(%b, %c) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
  return %s : i32
}

// -----

// Sizes that differ by a constant factor: two of 1 unit of 64 * n bytes lie where one of 2 has lain, behind the one of 3 that is
// in use with all of them; all in all 5 units. A buffer over another dim has a place of its own behind them.
attn.dim @n min 0 max 64
attn.dim @m min 0 max 64
func.func private @use(%a: memref<?x48xf32>, %b: memref<?x32xf32>, %begin: index, %end: index, %worker: index) {
  return
}
func.func private @use3(%a: memref<?x48xf32>, %b: memref<?x16xf32>, %c: memref<?x16xf32>, %d: memref<?x16xf32>, %begin: index, %end: index, %worker: index) {
  return
}
// CHECK-LABEL: func.func @proportional
func.func @proportional(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>, %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]},
                        %y: memref<?xf32> {attn.name = "y", attn.dims = ["m"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %small = memref.alloc(%n) : memref<?x16xf32>
  %large = memref.alloc(%n) : memref<?x48xf32>
  %middle = memref.alloc(%n) : memref<?x32xf32>
  %second = memref.alloc(%n) : memref<?x16xf32>
  %other = memref.alloc(%m) : memref<?x16xf32>
  // CHECK: %[[UNIT:.*]] = arith.muli %c64{{[_0-9]*}}, %[[N:.*]] : index
  // CHECK: %[[SKIP:.*]] = arith.muli %[[UNIT]], %c3{{[_0-9]*}} : index
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[START:.*]], %[[SKIP]] : index
  // CHECK: memref.view %arg2[%[[BEHIND]]][%[[N]]] : memref<?xi8> to memref<?x16xf32>
  // CHECK: memref.view %arg2[%[[START]]][%[[N]]] : memref<?xi8> to memref<?x48xf32>
  // CHECK: memref.view %arg2[%{{.*}}][%[[N]]] : memref<?xi8> to memref<?x32xf32>
  // CHECK: %[[SKIP4:.*]] = arith.muli %[[UNIT]], %c4{{[_0-9]*}} : index
  // CHECK: %[[LAST:.*]] = arith.addi %[[START]], %[[SKIP4]] : index
  // CHECK: memref.view %arg2[%[[LAST]]][%[[N]]] : memref<?xi8> to memref<?x16xf32>
  // CHECK: %[[ALL:.*]] = arith.muli %[[UNIT]], %c5{{[_0-9]*}} : index
  // CHECK: %[[END:.*]] = arith.addi %[[START]], %[[ALL]] : index
  // CHECK: memref.view %arg2[%[[END]]][%{{.*}}] : memref<?xi8> to memref<?x16xf32>
  attn_host.parallel_for @use(%large, %middle) count %n env %env : (memref<?x48xf32>, memref<?x32xf32>), !llvm.ptr
  attn_host.parallel_for @use3(%large, %small, %second, %other) count %n env %env : (memref<?x48xf32>, memref<?x16xf32>, memref<?x16xf32>, memref<?x16xf32>), !llvm.ptr
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
  attn_host.parallel_for @small(%x) count %c1 env %env : (memref<?xf32>), !llvm.ptr
  attn_host.parallel_for @large(%x) count %c1 env %env : (memref<?xf32>), !llvm.ptr
  return %s : i32
}
// CHECK: func.func @scratch.workspace(%{{.*}}: index, %[[WORKERS:.*]]: index) -> index
// CHECK: arith.constant 65536
// CHECK: %[[BYTES:.*]] = arith.muli %[[WORKERS]], %{{.*}}
// CHECK: %[[ALL:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// CHECK: return %[[ALL]]

// -----

// A task's buffer whose extent has a constant bound, as a tile's has: 16 numbers on the stack, made at the task's begin since the
// extent is known in the loop alone, and a view of them there.
attn.dim @n min 0 max 64
// CHECK-LABEL: func.func private @bounded
func.func private @bounded(%x: memref<?xf32>, %n: index, %begin: index, %end: index, %worker: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[ROOM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
  // CHECK: scf.for
  scf.for %i = %begin to %end step %c1 {
    // CHECK: %[[SIZE:.*]] = affine.min
    %size = affine.min affine_map<(i)[n] -> (16, n - i)>(%i)[%n]
    // CHECK: memref.view %[[ROOM]][%{{.*}}][%[[SIZE]]] : memref<64xi8> to memref<?xf32>
    %t = memref.alloc(%size) : memref<?xf32>
    %v = memref.load %t[%c0] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}
// Above 16 KiB the bound is what each worker's slice of the workspace has: 5000 numbers, rounded up to whole cache lines.
// CHECK-LABEL: func.func private @large
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %{{.*}}: index, %[[WS:.*]]: memref<?xi8>, %[[BASE:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[WORKER:.*]]: index)
func.func private @large(%x: memref<?xf32>, %n: index, %begin: index, %end: index, %worker: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: arith.muli %[[WORKER]], %c20032
  // CHECK: scf.for
  scf.for %i = %begin to %end step %c1 {
    // CHECK: %[[SIZE:.*]] = affine.min
    %size = affine.min affine_map<(i)[n] -> (5000, n - i)>(%i)[%n]
    // CHECK: memref.view %[[WS]][%{{.*}}][%[[SIZE]]] : memref<?xi8> to memref<?xf32>
    %t = memref.alloc(%size) : memref<?xf32>
    %v = memref.load %t[%c0] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}
func.func @tiles(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                 %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  attn_host.parallel_for @bounded(%x, %n) count %n env %env : (memref<?xf32>, index), !llvm.ptr
  attn_host.parallel_for @large(%x, %n) count %n env %env : (memref<?xf32>, index), !llvm.ptr
  return %s : i32
}
// CHECK-LABEL: func.func @tiles.workspace
// CHECK: arith.constant 20032

// -----

// A buffer that an entry's own loop makes has a bound, too: its most bytes are laid out, and each iteration has a view of them.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[WORKSPACE:[^,]*]]: memref<?xi8>, %{{[^,]*}}: memref<?xf32>
// CHECK: %[[ROOM:.*]] = memref.view %[[WORKSPACE]][%{{.*}}][] : memref<?xi8> to memref<256xi8>
// CHECK: scf.for
// CHECK: %[[SIZE:.*]] = affine.min
// CHECK: memref.view %[[ROOM]][%{{.*}}][%[[SIZE]]] : memref<256xi8> to memref<?xf32>
func.func @blocks(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                  %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %s = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c64 {
    %size = affine.min affine_map<(i)[n] -> (64, n - i)>(%i)[%n]
    %t = memref.alloc(%size) : memref<?xf32>
    memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  }
  return %s : i32
}

// -----

// Branches are part of the block around them: a buffer that both sides of one fill, in a loop, and that the loop reads then, is in use only between. So the first
// one and the third are in one place.
attn.dim @n min 0 max 64
func.func private @use(%a: memref<?x8xf32>, %b: memref<?x8xf32>, %begin: index, %end: index, %worker: index) {
  return
}
// CHECK-LABEL: func.func @branches
func.func @branches(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                    %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %s = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %few = arith.cmpi sle, %n, %c16 : index
  %a = memref.alloc(%n) : memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  %c = memref.alloc(%n) : memref<?x8xf32>
  // CHECK: %[[A:.*]] = memref.view %arg2[%[[START:c0[_0-9]*]]][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: %[[B:.*]] = memref.view %arg2[%{{[0-9]+}}][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  // CHECK: %[[C:.*]] = memref.view %arg2[%[[START]]][%{{.*}}] : memref<?xi8> to memref<?x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    // CHECK: scf.if
    // CHECK: attn_host.parallel_for @use(%[[A]], %[[A]])
    scf.if %few {
      attn_host.parallel_for @use(%a, %a) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
    } else {
      attn_host.parallel_for @use(%a, %a) count %i env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
    }
    // CHECK: attn_host.parallel_for @use(%[[A]], %[[B]])
    attn_host.parallel_for @use(%a, %b) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
    // CHECK: attn_host.parallel_for @use(%[[B]], %[[C]])
    attn_host.parallel_for @use(%b, %c) count %n env %env : (memref<?x8xf32>, memref<?x8xf32>), !llvm.ptr
  }
  return %s : i32
}
