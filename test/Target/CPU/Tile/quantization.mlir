// RUN: rapt-opt %s --attn-cpu-tile | FileCheck %s

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, group_rows = 3, rows = 4>, rows = [6, 2, 1], task_rows = 12>

attn.parameter @w : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">]
  {layout = #attn_cpu.packed<shape = [64, 64], interleave = 8>, offset = 0 : i64, stride = 2304 : i64}

// Rows are quantized in a grid of their own; tiles read bytes of rows and of a panel.
// CHECK-LABEL: @product
func.func @product(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall {{.*}} -> (tensor<?x128xi8>)
  // The largest magnitude as bits, then quantized values and their negated sum.
  // CHECK: scf.for
  // CHECK: arith.maxsi {{.*}} : vector<32xi32>
  // CHECK: vector.reduction <maxsi>
  // CHECK: math.roundeven {{.*}} : vector<32xf32>
  // CHECK: arith.subi {{.*}} : vector<32xi32>
  %q = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
  // CHECK-DAG: attn.parameter_slice @w : tensor<2x2x576xi8>
  // CHECK-NOT: attn.parameter_slice @w : tensor<2x64x32
  %w = attn.parameter_slice @w : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>>
  // CHECK: scf.forall
  // CHECK: attn_cpu.quantized_matmul {{.*}} depth 64 of !attn.quantized<u4 group 32 axis 0> {{.*}} : tensor<6x128xi8>, tensor<2x576xi8>, tensor<6x32xf32> -> tensor<6x32xf32>
  // CHECK: attn_cpu.quantized_matmul {{.*}} tensor<2x32xf32>
  // CHECK: attn_cpu.quantized_matmul {{.*}} tensor<1x32xf32>
  %y = attn.linear %q, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// One element of a table: a nibble minus the zero point 8, times its group's scale.
// CHECK-LABEL: @embedding
func.func @embedding(%ids: tensor<?xi32>) -> tensor<?x64xf32> {
  %w = attn.parameter_slice @w : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>>
  // CHECK: tensor.extract %{{.*}} : tensor<2x2x576xi8>
  // CHECK: arith.subi %{{.*}}, %{{.*}} : i32
  // CHECK: arith.bitcast %{{.*}} : i32 to f32
  %x = attn.embedding %ids, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}
