// RUN: rapt-opt %s --attn-verify-backend --verify-diagnostics --split-input-file

func.func @allocates() {
  // expected-error@+1 {{is left: the backend stage promises code that neither allocates nor copies buffers}}
  %t = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @copies(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{is left: the backend stage promises code that neither allocates nor copies buffers}}
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @tensors() {
  // expected-error@+1 {{gives a tensor: the backend stage promises buffers}}
  %e = tensor.empty() : tensor<4xf32>
  return
}

// -----

// Near miss: scratch on the stack is no allocation.
func.func @stack() {
  %t = memref.alloca() : memref<4xf32>
  return
}

// -----

func.func @dynamic(%n: index) {
  // expected-error@+1 {{'memref.alloca' op puts 'memref<?xf32>' on the stack: the backend stage promises static shapes there}}
  %t = memref.alloca(%n) : memref<?xf32>
  return
}

// -----

func.func @grows(%x: memref<4xf32>) {
  // expected-error@+1 {{'memref.realloc' op is left: the backend stage promises code that neither allocates nor copies buffers}}
  %t = memref.realloc %x : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @parallel(%c0: index, %n: index, %c1: index) {
  // expected-error@+1 {{'scf.parallel' op is left: the backend stage promises tasks that attn_host.parallel_for calls}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
  }
  return
}

// -----

func.func @beyond(%x: memref<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'memref.dim' op asks for dim 2 of 'memref<?x8xf32>', which has 2}}
  %d = memref.dim %x, %c2 : memref<?x8xf32>
  return %d : index
}

// -----

func.func @frees(%x: memref<4xf32>) {
  // expected-error@+1 {{is left: the backend stage promises code that neither allocates nor copies buffers}}
  memref.dealloc %x : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op gives a tensor: the backend stage promises buffers}}
func.func @argument(%x: tensor<4xf32>) {
  return
}

// -----

func.func @grid(%n: index) {
  // expected-error@+1 {{'scf.forall' op is left: the backend stage promises tasks that attn_host.parallel_for calls}}
  scf.forall (%i) in (%n) {
  }
  return
}

// -----

func.func @tile(%rows: memref<4x64xbf16>, %panel: memref<32x64xbf16>, %dest: memref<4x32xf32>) {
  // expected-error@+1 {{'attn_cpu.vnni_matmul' op is not of the stage backend}}
  attn_cpu.vnni_matmul %rows, %panel, %dest : memref<4x64xbf16>, memref<32x64xbf16>, memref<4x32xf32>
  return
}

// -----

// Dialects of instructions are the target's; `dialects` names them.
// RUN: rapt-opt %S/Inputs/instruction.mlir --attn-verify-backend=dialects=amx
func.func @instruction() {
  // expected-error@+1 {{'amx.tile_zero' op is not of the stage backend, whose dialects are builtin, attn, attn_host, affine, arith, func, llvm, math, memref, scf, ub, vector}}
  %t = amx.tile_zero : !amx.tile<16x16xf32>
  return
}

// -----

attn.parameter @w : tensor<8xf32> from [#attn.source<"w">]
func.func @whole() -> memref<8xf32> {
  // expected-error@+1 {{'attn.parameter_slice' op is left: the backend stage promises vectors}}
  %w = attn.parameter_slice @w : tensor<8xf32>
  %m = memref.alloca() : memref<8xf32>
  return %m : memref<8xf32>
}
