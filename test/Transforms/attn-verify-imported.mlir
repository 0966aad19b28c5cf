// RUN: rapt-opt %s --attn-verify-imported --verify-diagnostics --split-input-file

// A module that keeps the contract.
attn.parameter @w layers 2 : tensor<2x8x8xf32> from [#attn.source<"h.{layer}.w">]
attn.dim @n min 1 max 64
func.func @forward(%x: tensor<?x8xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x8xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d = tensor.dim %x, %c1 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%z = %x) -> (tensor<?x8xf32>) {
    %w = attn.parameter_slice @w[%i] : tensor<8x8xf32>
    %v = attn.linear %z, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    scf.yield %v : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

attn.parameter @w : tensor<8xf32> from [#attn.source<"w">]
// expected-error@+1 {{'func.func' op argument 1 of an entry needs attn.name}}
func.func @forward(%x: tensor<8xf32> {attn.name = "x"}, %y: tensor<8xf32>) -> (tensor<8xf32> {attn.name = "z"}) attributes {attn.entry} {
  return %y : tensor<8xf32>
}

// -----

attn.parameter @w : tensor<8xf32> from [#attn.source<"w">]
// expected-error@+1 {{'func.func' op result 0 of an entry needs attn.name}}
func.func @forward(%x: tensor<8xf32> {attn.name = "x"}) -> tensor<8xf32> attributes {attn.entry} {
  return %x : tensor<8xf32>
}

// -----

// Near miss: a kernel's entries are named later.
func.func @kernel(%x: tensor<8xf32>) -> tensor<8xf32> attributes {attn.entry} {
  return %x : tensor<8xf32>
}

// -----

func.func @memory(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' op is not of the imported stage (attn, func, scf.for, arith, math, structured ops of linalg, and slices, shapes and elements of tensor)}}
  %0 = memref.load %x[%c0] : memref<8xf32>
  return
}

// -----

func.func @beyond(%x: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim 2 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  return %d : index
}

// -----

func.func @negative(%x: tensor<?x8xf32>) -> index {
  %c = arith.constant -1 : index
  // expected-error@+1 {{'tensor.dim' op asks for dim -1 of 'tensor<?x8xf32>', which has 2}}
  %d = tensor.dim %x, %c : tensor<?x8xf32>
  return %d : index
}

// -----

func.func @variable(%x: tensor<?x8xf32>, %i: index) -> index {
  // expected-error@+1 {{'tensor.dim' op needs a constant index and a ranked type, as the dims of a shape are known}}
  %d = tensor.dim %x, %i : tensor<?x8xf32>
  return %d : index
}

// -----

func.func @unranked(%x: tensor<*xf32>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tensor.dim' op needs a constant index and a ranked type}}
  %d = tensor.dim %x, %c0 : tensor<*xf32>
  return %d : index
}

// -----

// Arithmetic on tensors, linalg and the shapes of tensors, for which attn has no op.
func.func @upstream(%x: tensor<?x8xf32>, %s: f32) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %z = tensor.splat %s[%n] : tensor<?x8xf32>
  %y = arith.addf %x, %z : tensor<?x8xf32>
  %m = linalg.add ins(%y, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%z : tensor<?x8xf32>) -> tensor<?x8xf32>
  %j = tensor.concat dim(1) %m, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return %j : tensor<?x16xf32>
}

// -----

func.func @wide(%x: tensor<?x8xf64>) -> tensor<?x8xf64> {
  // expected-error@+1 {{'arith.addf' op has a value of type 'tensor<?x8xf64>'; the imported stage has caches, and scalars and tensors of f32, bf16, f16, index, integers of at most 64 bits and quantized values}}
  %y = arith.addf %x, %x : tensor<?x8xf64>
  return %y : tensor<?x8xf64>
}

// -----

func.func @lanes(%x: vector<8xf32>) -> vector<8xf32> {
  // expected-error@+1 {{'arith.addf' op has a value of type 'vector<8xf32>'}}
  %y = arith.addf %x, %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// Near miss: no structured op.
func.func @softmax(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'linalg.softmax' op is not of the imported stage}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @parts(%c: tensor<?x256xi8>) {
  // expected-error@+1 {{'attn.cache_parts' op is of the laid-out stage: the imported stage promises caches without a layout}}
  %k = attn.cache_parts %c at [0] : tensor<?x256xi8> -> tensor<?x16xbf16>
  return
}

// -----

// expected-error@+1 {{'func.func' op has a value of type 'memref<8xf32>'; the imported stage has caches, and scalars and tensors}}
func.func @buffer(%x: memref<8xf32>) {
  return
}

// -----

// expected-error@+1 {{'func.func' op has a value of type 'vector<8xf32>'}}
func.func private @lanes() -> vector<8xf32>

// -----

// expected-error@+1 {{'func.func' op has a value of type 'tensor<8xcomplex<f32>>'}}
func.func @complex(%x: tensor<8xcomplex<f32>>) {
  return
}

// -----

// expected-error@+1 {{'builtin.module' op has attn.target: the imported stage promises code of no target}}
module attributes {attn.target = {target = "cpu"}} {
}

// -----

func.func @scheduled(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op has attn.schedule: the imported stage promises code of no target}}
  %y = attn.linear %x, %w {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 1>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{'attn.parameter' op has a layout, offset or stride: the imported stage promises logical shapes}}
attn.parameter @w : tensor<2x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 1>, offset = 0 : i64, stride = 16384 : i64}

// -----

module attributes {attn.model = {}} {
func.func @packed(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op reads a weight in the layout #attn_cpu.panels<columns = 32, interleave = 1>: the imported stage promises logical shapes}}
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

// -----

// Loops of tensors whose number is not known before.
func.func @while(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  // expected-error@+1 {{'scf.condition' op is not of the imported stage}}
  %y = scf.while (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> { scf.condition(%c) %a : tensor<8xf32> } do {
  ^bb0(%b: tensor<8xf32>):
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

module attributes {attn.model = {family = "any"}} {
func.func @cache(%c: tensor<?x1x1x2x64x32xf32>, %l: index, %t: tensor<?x?xi32>) -> tensor<?x?x1x32xf32> {
  // expected-error@+1 {{'attn.kv_view' op works on a cache in the layout #attn.cache_rows<positions = 64, keys = 32, values = 32>: the imported stage promises logical shapes}}
  %k, %v = attn.kv_view %c[%l], %t {layout = #attn.cache_rows<positions = 64, keys = 32, values = 32>} : tensor<?x1x1x2x64x32xf32>, tensor<?x?xi32> -> tensor<?x?x1x32xf32>
  return %k : tensor<?x?x1x32xf32>
}
}
