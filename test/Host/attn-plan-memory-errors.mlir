// RUN: rapt-opt %s --attn-plan-memory --verify-diagnostics --split-input-file

func.func @depends_on_loop(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant 0 : i32
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error@+1 {{depends on a loop or on data: the size of a workspace comes from dims alone}}
    %t = memref.alloc(%i) : memref<?xf32>
    memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  }
  return %s : i32
}

// -----

func.func @depends_on_data(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>, %x: memref<1xindex>) -> i32
    attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  %n = memref.load %x[%c0] : memref<1xindex>
  // expected-error@+1 {{depends on a loop or on data: the size of a workspace comes from dims alone}}
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  return %s : i32
}

// -----

func.func private @task(%n: index, %begin: index, %end: index, %worker: index) {
  // expected-error@+1 {{in a task needs extents with constant bounds}}
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  return
}

// -----

// A bound from above is needed: a lower one tells nothing of the size.
func.func private @lower(%n: index, %begin: index, %end: index, %worker: index) {
  %size = affine.max affine_map<()[n] -> (16, n)>()[%n]
  // expected-error@+1 {{in a task needs extents with constant bounds}}
  %t = memref.alloc(%size) : memref<?xf32>
  memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  return
}

// -----

// So many bytes are no buffer of a task.
func.func private @huge(%n: index, %begin: index, %end: index, %worker: index) {
  %size = affine.min affine_map<()[n] -> (4611686018427387904, n)>()[%n]
  // expected-error@+1 {{in a task needs extents with constant bounds}}
  %t = memref.alloc(%size) : memref<?x8xf32>
  memref.copy %t, %t : memref<?x8xf32> to memref<?x8xf32>
  return
}

// -----

func.func @undeclared(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                      %x: memref<?xf32> {attn.name = "x", attn.dims = ["m"]}) -> i32 attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  // expected-error@+1 {{names the dim 'm', which is not declared}}
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %t : memref<?xf32> to memref<?xf32>
  return %s : i32
}

// -----

// expected-error@+1 {{'func.func' op is an entry, whose argument 2 must be the workspace, a 'memref<?xi8>'}}
func.func @not_lowered(%x: memref<4xf32>) attributes {attn.entry} {
  return
}

// -----

func.func @beyond(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>,
                  %x: memref<?xf32> {attn.name = "x", attn.dims = ["m"]}) -> i32 attributes {attn.entry} {
  %c1 = arith.constant 1 : index
  %s = arith.constant 0 : i32
  // expected-error@+1 {{decides a workspace size, but asks for dim 1 of 'memref<?xf32>', which has names for 1}}
  %n = memref.dim %x, %c1 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  return %s : i32
}

// -----

func.func @no_dim(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>, %x: memref<?xf32> {attn.name = "x"}) -> i32
    attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0 : i32
  // expected-error@+1 {{decides a workspace size, but is no declared dim}}
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %t, %t : memref<?xf32> to memref<?xf32>
  return %s : i32
}

// -----

// Another function of the text has the name, or the pass runs twice.
func.func @f.workspace() {
  return
}
// expected-error@+1 {{'func.func' op needs the name 'f.workspace', which is taken}}
func.func @f(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>) -> i32 attributes {attn.entry} {
  %s = arith.constant 0 : i32
  return %s : i32
}

// -----

func.func @complex(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>) -> i32 attributes {attn.entry} {
  %s = arith.constant 0 : i32
  // expected-error@+1 {{is a buffer of 'memref<4xcomplex<f32>>', which no workspace holds; expected elements of integers, floats or index, and a number of bytes that 64 bits hold}}
  %t = memref.alloc() : memref<4xcomplex<f32>>
  return %s : i32
}

// -----

func.func private @large(%begin: index, %end: index, %worker: index) {
  // expected-error@+1 {{is a buffer of 'memref<4611686018427387904xf32>', which no workspace holds}}
  %t = memref.alloc() : memref<4611686018427387904xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op has buffers, but is no task: the last three arguments of a task are begin, end and worker}}
func.func private @notask(%worker: index) {
  %t = memref.alloc() : memref<8192xf32>
  memref.copy %t, %t : memref<8192xf32> to memref<8192xf32>
  return
}
