// RUN: rapt-opt %s --attn-verify-canonical --verify-diagnostics --split-input-file

// A module that keeps the contract.
attn.parameter @w : tensor<64x64xf32> from [#attn.source<"w">]

// -----

// expected-error@+1 {{has a layout, offset or stride: the canonical stage promises logical shapes}}
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}

// -----

module attributes {attn.model = {}} {
func.func @packed(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op reads a weight in the layout #attn_cpu.panels<columns = 32, interleave = 1>: the canonical stage promises logical shapes}}
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

// The caller of a bare kernel may pass a packed weight.
func.func @kernel(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @scheduled(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op has attn.schedule: the canonical stage promises code of no target}}
  %y = attn.linear %x, %w {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 1>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func private @block()
func.func @step() {
  // expected-error@+1 {{is left: the canonical stage promises that blocks are inlined into the layer loop}}
  func.call @block() : () -> ()
  return
}

// -----

#rows = affine_map<(d0, d1) -> (d1, d0)>
func.func @encoded(%x: tensor<4x8xf32, #rows>) -> tensor<4x8xf32> {
  // expected-error@+1 {{gives 'tensor<8x8xf32, affine_map<(d0, d1) -> (d1, d0)>>': the canonical stage promises logical shapes}}
  %w = arith.constant dense<0.0> : tensor<8x8xf32, #rows>
  %y = arith.constant dense<0.0> : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

attn.parameter @w : tensor<8xf32> from [#attn.source<"w">]
func.func @kernel() -> tensor<8xf32> {
  // expected-error@+1 {{'attn.parameter_slice' op is in 'kernel', which is no entry: weights belong to functions with attn.entry}}
  %w = attn.parameter_slice @w : tensor<8xf32>
  return %w : tensor<8xf32>
}

// -----

func.func @beyond(%x: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim 2 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  return %d : index
}

// -----

// expected-error@+1 {{'builtin.module' op has attn.target: the canonical stage promises code of no target}}
module attributes {attn.target = {target = "cpu"}} {
}

// -----

func.func @cast(%x: tensor<?x64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{'attn_cpu.cast_rows' op is not of the stage canonical, whose dialects are builtin, attn, arith, func, linalg, math, scf, tensor}}
  %y = attn_cpu.cast_rows %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

func.func @memory(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' op is not of the stage canonical, whose dialects are builtin, attn, arith, func, linalg, math, scf, tensor}}
  %0 = memref.load %x[%c0] : memref<8xf32>
  return
}

// -----

func.func private @task(%x: tensor<8xf32>, %begin: index, %end: index, %worker: index) {
  return
}
func.func @run(%env: index, %x: tensor<8xf32>, %n: index) {
  // expected-error@+1 {{'attn_host.parallel_for' op is not of the stage canonical}}
  attn_host.parallel_for @task(%x) count %n env %env : (tensor<8xf32>), index
  return
}

// -----

attn.dim @rows min 0 max 9
func.func @kept(%x: tensor<?x8xf32> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x8xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%at = %x) -> (tensor<?x8xf32>) {
    %next = attn.activation relu %at : tensor<?x8xf32>
    scf.yield %next : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

attn.dim @rows min 0 max 9
attn.dim @others min 0 max 9
func.func @changed(%x: tensor<?x8xf32> {attn.name = "x", attn.dims = ["rows"]}, %other: tensor<?x8xf32> {attn.name = "other", attn.dims = ["others"]})
    -> (tensor<?x8xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{'scf.for' op carries 'tensor<?x8xf32>', whose extent 0 is not known to stay the same: the canonical stage promises that an iteration keeps the extents of what it carries}}
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%at = %x) -> (tensor<?x8xf32>) {
    %next = attn.activation relu %other : tensor<?x8xf32>
    scf.yield %next : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

func.func @parts(%c: tensor<?x256xi8>) {
  // expected-error@+1 {{'attn.cache_parts' op is of the laid-out stage: the canonical stage promises caches without a layout}}
  %k = attn.cache_parts %c at [0] : tensor<?x256xi8> -> tensor<?x16xbf16>
  return
}

// -----

#id = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#kv = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @machine(%q: tensor<?x2x32xf32>, %k: tensor<?x2x32xf32>) -> tensor<?x2x32xf32> {
  %scale = arith.constant 0.25 : f32
  // expected-error@+1 {{'attn.attention' op has the attribute 'attn_cpu.bf16_matmul' of the dialect attn_cpu: the canonical stage promises code of no target}}
  %y = attn.attention %q, %k, %k, %scale maps [#id, #kv, #v, #o] {attn_cpu.bf16_matmul} : tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// -----

// A value of a machine's dialect, whatever the attribute's name, also inside of another.
func.func @value(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.activation' op has the attribute 'note' of the dialect attn_cpu: the canonical stage promises code of no target}}
  %y = attn.activation relu %x {note = [1 : i64, #attn_cpu.root<consumer>]} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{'func.func' op has the attribute 'llvm.noalias' of the dialect llvm: the canonical stage promises code of no target}}
func.func @argument(%x: tensor<?x64xf32> {llvm.noalias}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

func.func @operation(%x: tensor<?x64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{'attn_cpu.cast_rows' op is not of the stage canonical}}
  %y = attn_cpu.cast_rows %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

func.func @wide(%x: tensor<?x8xf64>) -> tensor<?x8xf64> {
  // expected-error@+1 {{'arith.addf' op has a value of type 'tensor<?x8xf64>'; the canonical stage has caches, and scalars and tensors of f32, bf16, f16, index, integers of at most 64 bits and quantized values}}
  %y = arith.addf %x, %x : tensor<?x8xf64>
  return %y : tensor<?x8xf64>
}

// -----

// expected-error@+1 {{'func.func' op has a value of type 'vector<8xf32>'}}
func.func @lanes(%x: vector<8xf32>) {
  return
}

// -----

// expected-error@+1 {{'func.func' op has a value of type 'tensor<8xcomplex<f32>>'}}
func.func @complex(%x: tensor<8xcomplex<f32>>) {
  return
}

// -----

// Near miss: elements of every type that a program has.
func.func @elements(%a: tensor<8xf16>, %b: tensor<8xi1>, %c: tensor<8xi64>, %d: tensor<8xindex>, %e: f32) {
  return
}

// -----

func.func @grid(%x: tensor<8xf32>, %n: index) {
  // expected-error@+1 {{'scf.forall.in_parallel' op is not of the canonical stage, whose only loop is scf.for}}
  scf.forall (%i) in (%n) {
  }
  return
}

// -----

func.func @while(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  // expected-error@+1 {{'scf.condition' op is not of the canonical stage, whose only loop is scf.for}}
  %y = scf.while (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> { scf.condition(%c) %a : tensor<8xf32> } do {
  ^bb0(%b: tensor<8xf32>):
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

func.func @if(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  // expected-error@+1 {{'scf.if' op is not of the canonical stage, whose only loop is scf.for}}
  %y = scf.if %c -> tensor<8xf32> { scf.yield %x : tensor<8xf32> } else { scf.yield %x : tensor<8xf32> }
  return %y : tensor<8xf32>
}

// -----

func.func @refused(%x: f32) -> f32 {
  // expected-error@+1 {{'math.erfc' op is not a scalar op of the canonical stage; use 1 - math.erf}}
  %y = math.erfc %x : f32
  return %y : f32
}

// -----

module attributes {attn.model = {family = "any"}} {
func.func @cache(%c: tensor<?x1x1x2x64x32xf32>, %l: index, %t: tensor<?x?xi32>) -> tensor<?x?x1x32xf32> {
  // expected-error@+1 {{'attn.kv_view' op works on a cache in the layout #attn.cache_rows<positions = 64, keys = 32, values = 32>: the canonical stage promises logical shapes}}
  %k, %v = attn.kv_view %c[%l], %t {layout = #attn.cache_rows<positions = 64, keys = 32, values = 32>} : tensor<?x1x1x2x64x32xf32>, tensor<?x?xi32> -> tensor<?x?x1x32xf32>
  return %k : tensor<?x?x1x32xf32>
}
}
