// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// Every element is made by a loop over its sequence's tokens, behind those that are skipped. A sequence without tokens gives 0,
// not 0 / 0.
// CHECK-LABEL: @mean
// CHECK-SAME: %[[X:.*]]: tensor<?x50xf32>, %[[BEGIN:.*]]: tensor<?xi32>
func.func @mean(%x: tensor<?x50xf32>, %b: tensor<?xi32>) -> tensor<?x50xf32> {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: tensor.extract %[[BEGIN]]
  // CHECK: %[[END:.*]] = arith.index_cast
  // CHECK: tensor.extract %[[BEGIN]]
  // CHECK: %[[SKIP:.*]] = arith.constant 1 : index
  // CHECK: %[[BEHIND:.*]] = arith.addi %{{.*}}, %[[SKIP]]
  // CHECK: %[[FIRST:.*]] = arith.minsi %[[BEHIND]], %[[END]]
  // CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %{{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (f32)
  // CHECK: arith.addf
  // CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[FIRST]], %[[END]]
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]]
  // CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[MEAN]]
  %0 = attn.pool_rows mean %x, %b skip 1 : tensor<?x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// The one token that is read is in a loop that may run no time.
// CHECK-LABEL: @first
func.func @first(%x: tensor<?x50xf32>, %b: tensor<?xi32>) -> tensor<?x50xf32> {
  // CHECK: %[[FIRST:.*]] = arith.minsi %{{.*}}, %[[END:.*]] : index
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %{{.*}}
  // CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %[[BEHIND]]
  // CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
  // CHECK-NOT: arith.divf
  // CHECK: return
  %0 = attn.pool_rows first %x, %b : tensor<?x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// CHECK-LABEL: @last
func.func @last(%x: tensor<?x50xf32>, %b: tensor<?xi32>) -> tensor<?x50xf32> {
  // CHECK: %[[BEGIN:.*]] = arith.minsi %{{.*}}, %[[END:.*]] : index
  // CHECK: %[[BEFORE:.*]] = arith.subi %[[END]], %{{.*}}
  // CHECK: %[[FIRST:.*]] = arith.maxsi %[[BEGIN]], %[[BEFORE]]
  // CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]]
  %0 = attn.pool_rows last %x, %b : tensor<?x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}

// -----

// The first token is taken whatever it is, so that a maximum below 0 is found.
// CHECK-LABEL: @max
func.func @max(%x: tensor<?x50xf32>, %b: tensor<?xi32>) -> tensor<?x50xf32> {
  // CHECK: scf.for %[[TOKEN:.*]] = %[[FIRST:.*]] to %{{.*}} iter_args(%[[MOST:.*]] = %{{.*}}) -> (f32)
  // CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[TOKEN]], %[[FIRST]]
  // CHECK: %[[LARGER:.*]] = arith.cmpf olt, %[[MOST]], %[[X:.*]] : f32
  // CHECK: %[[TAKEN:.*]] = arith.ori %[[IS_FIRST]], %[[LARGER]]
  // CHECK: arith.select %[[TAKEN]], %[[X]], %[[MOST]]
  %0 = attn.pool_rows max %x, %b : tensor<?x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  return %0 : tensor<?x50xf32>
}
