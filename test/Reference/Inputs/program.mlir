// The program around ops: parameters, loops, calls, dims, scalars.
attn.dim @rows min 1 max 9
attn.dim @unbound min 0 max 4
attn.parameter @plain : tensor<5x3xf32> from [#attn.source<"plain">]
attn.parameter @stacked layers 3 : tensor<3x5x5xf32> from [#attn.source<"h.{layer}.w">]
attn.parameter @rounded layers 3 : tensor<3x5xbf16> from [#attn.source<"h.{layer}.b">]

func.func private @layer(%x: tensor<?x5xf32>, %i: index) -> tensor<?x5xf32> {
  %w = attn.parameter_slice @stacked[%i] : tensor<5x5xf32>
  %b = attn.parameter_slice @rounded[%i] : tensor<5xbf16>
  %0 = attn.linear %x, %w, (%b) : tensor<?x5xf32>, tensor<5x5xf32>, (tensor<5xbf16>) -> tensor<?x5xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %1 = arith.addf %sum, %bias : f32
    attn.yield %1 : f32
  }
  return %0 : tensor<?x5xf32>
}
func.func @undeclared(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["none"]}) -> (tensor<?xf32> {attn.name = "y"}) {
  return %x : tensor<?xf32>
}
func.func @stack(%x: tensor<?x5xf32> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x3xf32> {attn.name = "y"}, index {attn.name = "twice"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %x) -> (tensor<?x5xf32>) {
    %1 = func.call @layer(%y, %i) : (tensor<?x5xf32>, index) -> tensor<?x5xf32>
    scf.yield %1 : tensor<?x5xf32>
  }
  %w = attn.parameter_slice @plain : tensor<5x3xf32>
  %2 = attn.linear %0, %w : tensor<?x5xf32>, tensor<5x3xf32> -> tensor<?x3xf32>
  %n = tensor.dim %2, %c0 : tensor<?x3xf32>
  %m = attn.dim_size @rows : index
  %s = arith.addi %n, %m : index
  return %2, %s : tensor<?x3xf32>, index
}
func.func @integers(%a: i8 {attn.name = "a"}, %b: i8 {attn.name = "b"})
    -> (i8 {attn.name = "sum"}, i8 {attn.name = "quotient"}, i8 {attn.name = "unsigned_quotient"}, i8 {attn.name = "floor"}, i8 {attn.name = "shift"},
        i1 {attn.name = "less"}, i1 {attn.name = "below"}, i32 {attn.name = "wide"}, i8 {attn.name = "larger"}) {
  %0 = arith.addi %a, %b : i8
  %1 = arith.divsi %a, %b : i8
  %2 = arith.divui %a, %b : i8
  %3 = arith.floordivsi %a, %b : i8
  %c3 = arith.constant 3 : i8
  %4 = arith.shrui %a, %c3 : i8
  %5 = arith.cmpi slt, %a, %b : i8
  %6 = arith.cmpi ult, %a, %b : i8
  %7 = arith.extui %a : i8 to i32
  %8 = arith.select %5, %b, %a : i8
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : i8, i8, i8, i8, i8, i1, i1, i32, i8
}
func.func @floats(%a: f32 {attn.name = "a"}, %b: f32 {attn.name = "b"})
    -> (f32 {attn.name = "sum"}, f32 {attn.name = "power"}, f32 {attn.name = "rounded"}, i1 {attn.name = "less"}, f32 {attn.name = "root"},
        i32 {attn.name = "whole"}, f32 {attn.name = "larger"}) {
  %0 = arith.addf %a, %b : f32
  %1 = math.powf %a, %b : f32
  %2 = arith.truncf %a : f32 to bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.cmpf olt, %a, %b : f32
  %5 = math.rsqrt %a : f32
  %6 = arith.fptosi %a : f32 to i32
  %7 = arith.maximumf %a, %b : f32
  return %0, %1, %3, %4, %5, %6, %7 : f32, f32, f32, i1, f32, i32, f32
}

// Each of these stops with an error.
func.func @recursion() {
  func.call @recursion() : () -> ()
  return
}
func.func private @external()
func.func @calls_external() {
  func.call @external() : () -> ()
  return
}
func.func @reads_unbound() -> index {
  %n = attn.dim_size @unbound : index
  return %n : index
}
func.func @endless(%step: index {attn.name = "step"}) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %step {
  }
  return
}
func.func @layer_outside(%i: index {attn.name = "i"}) -> tensor<5xbf16> {
  %b = attn.parameter_slice @rounded[%i] : tensor<5xbf16>
  return %b : tensor<5xbf16>
}
func.func @huge(%n: index {attn.name = "n"}) -> tensor<?x1000000xf32> {
  %0 = tensor.empty(%n) : tensor<?x1000000xf32>
  return %0 : tensor<?x1000000xf32>
}
func.func @later_stage(%x: tensor<4xf32> {attn.name = "x"}) -> tensor<4xf32> {
  %0 = tensor.bitcast %x : tensor<4xf32> to tensor<4xi32>
  %1 = tensor.bitcast %0 : tensor<4xi32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
