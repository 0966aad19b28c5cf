// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#recurrence = #attn_cpu.recurrence_schedule<kernel = <columns = 16, rows = 6>, rows = 3>

// Tiles of 3 sequences, at least one tile. A time step reads the weight once for all sequences: a loop over the panels of the state, a loop over the gates (3
// sequences or one), then the cell of each sequence that has not ended. States without users have no destination.
// CHECK: affine_map<()[s0] -> ((s0 - 1) ceildiv 3)>
// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x256xf32>, %w: tensor<8x33x32xbf16>, %begin: tensor<?xi32>, %h: tensor<?x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[TILES:.*]] = affine.apply #map1()
  // CHECK: %[[GRID:.*]] = arith.maxsi %[[TILES]]
  // CHECK: scf.forall (%{{.*}}) in (%[[GRID]])
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}}, %{{.*}} : tensor<3x33xf32>, tensor<33x32xbf16>)
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}}, %{{.*}} : tensor<1x33xf32>, tensor<33x32xbf16>)
  // CHECK: %[[LEFT:.*]] = arith.cmpi slt
  // CHECK: %[[TRIPS:.*]] = arith.index_castui %[[LEFT]] : i1 to index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[TRIPS]]
  // CHECK-COUNT-2: math.exp
  // CHECK: math.tanh
  // CHECK: math.exp
  // CHECK: math.tanh
  // CHECK-NOT: math
  // CHECK: scf.forall.in_parallel
  // CHECK-COUNT-2: tensor.parallel_insert_slice
  // CHECK-NOT: tensor.parallel_insert_slice
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %h) {attn.schedule = #recurrence, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x256xf32>, tensor<8x33x32xbf16>, tensor<?xi32>, tensor<?x64xf32>, tensor<?x64xf32>
  return %y, %last#1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

#recurrence = #attn_cpu.recurrence_schedule<kernel = <columns = 16, rows = 6>, rows = 3>

// A row-major weight needs a multiple of 32 columns.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x32xf32>, %w: tensor<32x32xf32>, %begin: tensor<?xi32>, %h: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: tensor.extract_slice %{{.*}}[0, %{{.*}}] [32, 32] [1, 1] : tensor<32x32xf32> to tensor<32x32xf32>
  // CHECK: linalg.matmul
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) reverse {attn.schedule = #recurrence} : tensor<?x32xf32>, tensor<32x32xf32>, tensor<?xi32>, tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// The state is the destination.
// CHECK-LABEL: @update
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x2x64xf32>
func.func @update(%s: tensor<?x2x64xf32>, %layer: index, %v: tensor<?x64xf32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf32> {
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[S]])
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}, 0] [1, 1, 64]
  %0 = attn.update_rows %s[%layer], %v, %rows : tensor<?x2x64xf32>, tensor<?x64xf32>, tensor<?xi32>
  return %0 : tensor<?x2x64xf32>
}

// -----

// The second input starts within 32 columns, so its last vector may cross the end; that of the first input does not.
// CHECK-LABEL: @concat
func.func @concat(%x: tensor<?x64xf32>, %y: tensor<?x32xf32>) -> tensor<?x96xf32> {
  // CHECK: vector.transfer_write %{{.*}} {in_bounds = [true]} : vector<32xf32>, tensor<96xf32>
  // CHECK: vector.transfer_write %{{.*}} {in_bounds = [true]} : vector<32xf32>, tensor<96xf32>
  // CHECK: vector.transfer_write %{{.*}}] : vector<32xf32>, tensor<96xf32>
  %0 = attn.concat %x, %y columns [33, 32] width 96 : tensor<?x64xf32>, tensor<?x32xf32>
  return %0 : tensor<?x96xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>
#recurrence = #attn_cpu.recurrence_schedule<kernel = <columns = 16, rows = 6>, rows = 3>

// A layer overwrites the stream that the loop carries after its last read.
// CHECK-LABEL: @stack
func.func @stack(%x: tensor<?x32xf32>, %wi: tensor<1x32x32xf32>, %w: tensor<1x32x32xf32>, %begin: tensor<?xi32>, %n: index) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[STREAM:.*]] = %{{.*}})
  %0 = scf.for %l = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x32xf32>) {
    %g = attn.linear %a, %wi {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32> -> tensor<?x32xf32>
    // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[STREAM]])
    %y, %last = attn.recurrence rnn_tanh %g, %w rows(%begin) {attn.schedule = #recurrence, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, tensor<?xi32>
    scf.yield %y : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

#recurrence = #attn_cpu.recurrence_schedule<kernel = <columns = 16, rows = 6>, rows = 3>

// Near miss: the gates are the stream itself, which later steps still read.
// CHECK-LABEL: @gates_are_stream
func.func @gates_are_stream(%x: tensor<?x32xf32>, %w: tensor<1x32x32xf32>, %begin: tensor<?xi32>, %n: index) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[NEW:.*]] = tensor.empty
  // CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[NEW]])
  %0 = scf.for %l = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x32xf32>) {
    %y, %last = attn.recurrence rnn_tanh %a, %w rows(%begin) {attn.schedule = #recurrence, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x32xf32>, tensor<1x32x32xf32>, tensor<?xi32>
    scf.yield %y : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}
