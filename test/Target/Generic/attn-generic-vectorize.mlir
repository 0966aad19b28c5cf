// RUN: rapt-opt %s --attn-generic-vectorize --split-input-file | FileCheck %s

// A micro-kernel tile is 4 rows of two vectors: its sums are carried over k, which reads each of B's vectors for them all. The rows that are left are alone,
// with as many columns as the tile has in all, and what 80 columns leave of those.
// CHECK-LABEL: @matmul
// CHECK-SAME: %[[X:.*]]: memref<?x48xf32>, %[[W:.*]]: memref<48x80xf32>, %[[Y:.*]]: memref<?x80xf32>
func.func @matmul(%x: memref<?x48xf32>, %w: memref<48x80xf32>, %y: memref<?x80xf32>) {
  // CHECK: %[[ROWS:.*]] = memref.dim %[[X]]
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c80{{.*}} step %c16
  // CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %{{.*}} step %c4
  // CHECK: %[[FIRST:.*]] = memref.subview %[[Y]][%[[I]], %[[J]]] [1, 16] [1, 1]
  // CHECK: %[[SUM:.*]] = vector.transfer_read %[[FIRST]]
  // CHECK-COUNT-3: vector.transfer_read
  // CHECK: %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %c0{{.*}} to %c48{{.*}} iter_args(%[[CARRIED:.*]] = %[[SUM]], {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
  // CHECK: %[[A:.*]] = memref.load %[[X]][%[[I]], %[[K]]]
  // CHECK: %[[B:.*]] = memref.subview %[[W]][%[[K]], %[[J]]] [1, 16] [1, 1]
  // CHECK: %[[BS:.*]] = vector.transfer_read %[[B]]
  // CHECK: %[[AS:.*]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
  // CHECK: %[[P:.*]] = arith.mulf %[[AS]], %[[BS]] : vector<16xf32>
  // CHECK: arith.addf %[[CARRIED]], %[[P]] : vector<16xf32>
  // CHECK: scf.yield
  // CHECK: vector.transfer_write %[[SUMS]]#0, %[[FIRST]]
  // CHECK-COUNT-3: vector.transfer_write
  // CHECK: scf.for %{{.*}} to %{{.*}} step %c1
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c64
  // CHECK: scf.for {{.*}} -> (vector<64xf32>)
  // CHECK: scf.for %{{.*}} = %c64{{.*}} to %c80{{.*}} step %c8
  // CHECK: scf.for {{.*}} -> (vector<8xf32>)
  // CHECK-NOT: memref.store
  // CHECK-NOT: linalg
  // CHECK: return
  linalg.generic {indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (m, n)>],
                  iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %w : memref<?x48xf32>, memref<48x80xf32>) outs(%y : memref<?x80xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// The transposed weight is contiguous along k: a row has a vector of partial sums, which are added up, and then the 4 elements that two vectors leave.
// CHECK-LABEL: @transposed
// CHECK-SAME: %[[X:.*]]: memref<1x52xf32>, %[[W:.*]]: memref<8x52xf32>, %[[Y:.*]]: memref<1x8xf32>
func.func @transposed(%x: memref<1x52xf32>, %w: memref<8x52xf32>, %y: memref<1x8xf32>) {
  // CHECK-COUNT-4: memref.alloca() : memref<16xf32>
  // CHECK: scf.for %{{.*}} step %c4
  // CHECK-COUNT-4: vector.broadcast %{{.*}} : f32 to vector<16xf32>
  // CHECK: %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %c0{{.*}} to %c48{{.*}} step %c16
  // CHECK: arith.addf %{{.*}} : vector<16xf32>
  // CHECK: vector.transfer_write %[[SUMS]]#0
  // CHECK: vector.multi_reduction <add>, %{{.*}} : vector<16xf32> to f32
  // CHECK: scf.for %{{.*}} to %c4
  // CHECK: arith.addf %{{.*}} : f32
  // CHECK: memref.store
  // CHECK: vector.multi_reduction
  // CHECK-NOT: linalg
  // CHECK: return
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<1x52xf32>, memref<8x52xf32>) outs(%y : memref<1x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// The lanes are the target's. Indices count from the begin of the op, also in the scalar loop of the ragged end.
module attributes {attn.target = {target = "generic", vector_bytes = 16 : i64}} {
// CHECK-LABEL: @indices
func.func @indices(%y: memref<?xindex>) {
  // CHECK: scf.for %[[I:.*]] = %c0{{.*}} step %c4
  // CHECK: %[[STEP:.*]] = vector.step : vector<4xindex>
  // CHECK: %[[FIRST:.*]] = vector.broadcast %[[I]] : index to vector<4xindex>
  // CHECK: arith.addi %[[STEP]], %[[FIRST]]
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} step %c1
  // CHECK: %[[NUMBER:.*]] = arith.addi %[[J]], %{{.*}} : index
  // CHECK: memref.store %[[NUMBER]]
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : memref<?xindex>) {
  ^bb0(%o: index):
    %0 = linalg.index 0 : index
    linalg.yield %0 : index
  }
  return
}
}

// -----

// Near misses: a transpose, a body that reads a buffer, elements of one bit and of 24 bits, fewer columns than a vector has, a sum whose body has another use of it.
// CHECK-LABEL: @stay
func.func @stay(%x: memref<16x32xf32>, %y: memref<32x16xf32>, %p: memref<32x16xindex>, %t: memref<64xf32>, %b: memref<32x16xi1>, %c: memref<32x4xf32>, %s: memref<32xf32>, %n: memref<32x16xi24>) {
  // CHECK-NOT: vector
  // CHECK-COUNT-6: linalg.
  // CHECK-NOT: vector
  // CHECK: return
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x32xf32>) outs(%y : memref<32x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : memref<32x16xindex>) outs(%y : memref<32x16xf32>) {
  ^bb0(%a: index, %o: f32):
    %0 = memref.load %t[%a] : memref<64xf32>
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<32x16xi1>) outs(%y : memref<32x16xf32>) {
  ^bb0(%a: i1, %o: f32):
    %0 = arith.uitofp %a : i1 to f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%n : memref<32x16xi24>) {
  ^bb0(%o: i24):
    %0 = arith.addi %o, %o : i24
    linalg.yield %0 : i24
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<32x4xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : memref<32x16xf32>) outs(%s : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.cmpf olt, %o, %a : f32
    %1 = arith.addf %o, %a : f32
    %2 = arith.select %0, %1, %o : f32
    linalg.yield %2 : f32
  }
  return
}
