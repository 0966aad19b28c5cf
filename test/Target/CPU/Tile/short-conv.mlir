// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// A task is a slice of the channels of a sequence. Each 32 of them go along the tokens and carry the inputs before, which come from the
// slot where the sequence begins and are its state in the end.
// CHECK-LABEL: @conv
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %{{.*}}: tensor<3x64xf32>, %{{.*}}: tensor<?xi32>, %[[S:.*]]: tensor<?x2x64xf32>
func.func @conv(%x: tensor<?x64xf32>, %w: tensor<3x64xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x64xf32>) -> (tensor<?x64xf32>, tensor<?x2x64xf32>) {
  // CHECK: scf.forall
  // CHECK: scf.forall (%[[ROW:.*]], %{{.*}}) in (%{{.*}}, 1) shared_outs(%{{.*}} = %{{.*}}, %[[STATES:.*]] = %[[S]])
  // CHECK: tensor.extract_slice %[[STATES]][%[[ROW]], 0, %{{.*}}] [1, 2, 64]
  // CHECK: %[[PANEL:.*]]:3 = scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, tensor<?x64xf32>)
  // CHECK: vector.transfer_read %[[X]]
  // CHECK: arith.mulf
  // CHECK-COUNT-2: vector.fma
  // CHECK-NOT: vector.fma
  // CHECK: vector.transfer_write %[[PANEL]]#0
  // CHECK: vector.transfer_write %[[PANEL]]#1
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, tensor<?x64xf32>)
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[STATES]][%[[ROW]], 0, %{{.*}}] [1, 2, 64]
  %y, %new = attn.short_conv %x, %w rows(%begin) state(%s : tensor<?x2x64xf32>) : tensor<?x64xf32>, tensor<3x64xf32>, tensor<?xi32>
  return %y, %new : tensor<?x64xf32>, tensor<?x2x64xf32>
}
