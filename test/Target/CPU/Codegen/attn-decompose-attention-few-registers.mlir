// RUN: rapt-opt %s --attn-decompose-attention --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With 16 registers a masked block of static size has the panels with keys before the limit alone, in scores and softmax.
// CHECK: #[[$PANELS:.*]] = affine_map<()[s0, s1] -> (((s0 - s1) ceildiv 32) * 32)>
module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: @panels_before_limit
  // CHECK-SAME: %{{.*}}: tensor<6x64xf32>, {{.*}} %[[FROM:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
  func.func @panels_before_limit(%q: tensor<6x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index, %end: index,
      %acc: tensor<6x64xf32>, %m: tensor<6xf32>, %l: tensor<6xf32>) -> tensor<6x64xf32> {
    // CHECK: %[[BEFORE:.*]] = affine.apply #[[$PANELS]]()[%[[END]], %[[FROM]]]
    // CHECK: %[[SOME:.*]] = arith.maxsi %[[BEFORE]], %c32
    // CHECK: %[[COUNT:.*]] = arith.minsi %{{.*}}, %[[SOME]]
    // CHECK: scf.for {{.*}} to %[[COUNT]] step %c32
    // CHECK: attn_cpu.panel_matmul
    // CHECK: scf.for {{.*}} to %[[COUNT]] step %c32
    // CHECK: arith.select
    // CHECK: scf.for {{.*}} to %[[COUNT]] step %c32
    // CHECK: math.exp2 {{.*}} vector<32xf32>
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<6x?xf32>, tensor<?x32xf32>
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%end) init(%acc, %m, %l) {attn.schedule = #kernel}
      : tensor<6x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
    return %0#0 : tensor<6x64xf32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 32, rows = 14, vnni_rows = 13>
// Near miss: with 32 registers all panels are multiplied.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @all_panels
  // CHECK-SAME: %{{.*}}: tensor<6x64xf32>, {{.*}} %[[FROM:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
  func.func @all_panels(%q: tensor<6x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index, %end: index,
      %acc: tensor<6x64xf32>, %m: tensor<6xf32>, %l: tensor<6xf32>) -> tensor<6x64xf32> {
    // CHECK-NOT: arith.minsi
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<6x64xf32>, tensor<64x32xf32>
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<6x64xf32>, tensor<64x32xf32>
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%end) init(%acc, %m, %l) {attn.schedule = #kernel}
      : tensor<6x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
    return %0#0 : tensor<6x64xf32>
  }
}
