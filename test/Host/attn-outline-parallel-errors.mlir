// RUN: rapt-opt %s --attn-outline-parallel --split-input-file --verify-diagnostics

func.func @on_tensors(%env: !llvm.ptr, %x: tensor<8xf32>) -> tensor<8xf32> attributes {attn.entry} {
  // expected-error@+1 {{'scf.forall' op must be bufferized and normalized before it is outlined}}
  %y = scf.forall (%i) in (8) shared_outs(%o = %x) -> (tensor<8xf32>) {
  }
  return %y : tensor<8xf32>
}

// -----

func.func @step(%env: !llvm.ptr, %x: memref<8xf32>) attributes {attn.entry} {
  %f0 = arith.constant 0.0 : f32
  // expected-error@+1 {{'scf.forall' op must be bufferized and normalized before it is outlined}}
  scf.forall (%i) = (0) to (8) step (2) {
    memref.store %f0, %x[%i] : memref<8xf32>
  }
  return
}
