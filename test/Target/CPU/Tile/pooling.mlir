// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

// A grid over sequences; for each 32 columns a loop over the sequence's tokens.
// CHECK-LABEL: @mean
func.func @mean(%x: tensor<?x64xf32>, %row_begin: tensor<?xi32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: arith.addf {{.*}} : vector<32xf32>
  // CHECK: arith.divf {{.*}} : vector<32xf32>
  %0 = attn.pool_rows mean %x, %row_begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// A sequence without tokens must not read: the read is in a loop that may have no iteration.
// CHECK-LABEL: @first
func.func @first(%x: tensor<?x64xf32>, %row_begin: tensor<?xi32>) -> tensor<?x64xf32> {
  // CHECK: %[[NONE:.*]] = arith.cmpi sge
  // CHECK: %[[ONCE:.*]] = arith.select %[[NONE]]
  // CHECK: scf.for {{.*}} to %[[ONCE]]
  // CHECK: vector.transfer_read {{.*}} : tensor<?x64xf32>, vector<32xf32>
  %0 = attn.pool_rows first %x, %row_begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @column
func.func @column(%x: tensor<?x32xf32>) -> tensor<?xf32> {
  // CHECK-NOT: scf.forall
  // CHECK: scf.for
  // CHECK: tensor.extract %{{.*}}[%{{.*}}, %c1]
  %0 = attn.column %x[1] : tensor<?x32xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
