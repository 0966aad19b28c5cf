// RUN: rapt-opt %s --attn-host-code-to-tasks --verify-diagnostics

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
