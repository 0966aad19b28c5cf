// RUN: rapt-opt %s --attn-host-code-to-tasks --verify-diagnostics --split-input-file

// The number of tasks is in the memory of the device.
func.func @count(%env: !llvm.ptr, %x: memref<8xindex>, %y: memref<?xf32>, %v: f32) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' op reads a buffer in the host program, whose buffers are in the memory of the device}}
  %n = memref.load %x[%c0] : memref<8xindex>
  scf.forall (%i) in (%n) {
    memref.store %v, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// A later task must not see what an earlier one has written.
func.func @written(%env: !llvm.ptr, %y: memref<?xf32>, %n: index) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' op reads a buffer in the host program, whose buffers are in the memory of the device}}
  %x = memref.load %y[%c0] : memref<?xf32>
  scf.forall (%i) in (%n) {
    memref.store %x, %y[%i] : memref<?xf32>
  }
  return
}
