// RUN: rapt-opt --attn-prefetch-panels %s | FileCheck %s

// Both vectors of the panel are fetched 8 steps ahead, the input's elements are not.
// CHECK-LABEL: @rows
func.func @rows(%a: memref<5x64xf32>, %panel: memref<64x32xf32>, %zero: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: scf.for %[[K:[a-z0-9]+]] =
  // CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c8
  // CHECK: memref.prefetch %arg1[%[[AHEAD]], %c0], read, locality<3>, data
  // CHECK-NEXT: vector.transfer_read %arg1[%[[K]], %c0]
  // CHECK: memref.prefetch %arg1[%[[AHEAD]], %c16], read, locality<3>, data
  // CHECK-NEXT: vector.transfer_read %arg1[%[[K]], %c16]
  // CHECK-NOT: memref.prefetch
  %sums:10 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s0 = %zero, %s1 = %zero, %s2 = %zero, %s3 = %zero, %s4 = %zero, %s5 = %zero, %s6 = %zero, %s7 = %zero, %s8 = %zero, %s9 = %zero) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %p0 = vector.transfer_read %panel[%k, %c0], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<16xf32>
    %p1 = vector.transfer_read %panel[%k, %c16], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<16xf32>
    %r0 = arith.constant 0 : index
    %e0 = memref.load %a[%r0, %k] : memref<5x64xf32>
    %b0 = vector.broadcast %e0 : f32 to vector<16xf32>
    %n0 = vector.fma %b0, %p0, %s0 : vector<16xf32>
    %n1 = vector.fma %b0, %p1, %s1 : vector<16xf32>
    %r1 = arith.constant 1 : index
    %e1 = memref.load %a[%r1, %k] : memref<5x64xf32>
    %b1 = vector.broadcast %e1 : f32 to vector<16xf32>
    %n2 = vector.fma %b1, %p0, %s2 : vector<16xf32>
    %n3 = vector.fma %b1, %p1, %s3 : vector<16xf32>
    %r2 = arith.constant 2 : index
    %e2 = memref.load %a[%r2, %k] : memref<5x64xf32>
    %b2 = vector.broadcast %e2 : f32 to vector<16xf32>
    %n4 = vector.fma %b2, %p0, %s4 : vector<16xf32>
    %n5 = vector.fma %b2, %p1, %s5 : vector<16xf32>
    %r3 = arith.constant 3 : index
    %e3 = memref.load %a[%r3, %k] : memref<5x64xf32>
    %b3 = vector.broadcast %e3 : f32 to vector<16xf32>
    %n6 = vector.fma %b3, %p0, %s6 : vector<16xf32>
    %n7 = vector.fma %b3, %p1, %s7 : vector<16xf32>
    %r4 = arith.constant 4 : index
    %e4 = memref.load %a[%r4, %k] : memref<5x64xf32>
    %b4 = vector.broadcast %e4 : f32 to vector<16xf32>
    %n8 = vector.fma %b4, %p0, %s8 : vector<16xf32>
    %n9 = vector.fma %b4, %p1, %s9 : vector<16xf32>
    scf.yield %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8, %n9 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  return %sums#0 : vector<16xf32>
}

// Near miss: with four rows memory sets the pace.
// CHECK-LABEL: @few_rows
func.func @few_rows(%a: memref<4x64xf32>, %panel: memref<64x32xf32>, %zero: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK-NOT: memref.prefetch
  %sums:8 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s0 = %zero, %s1 = %zero, %s2 = %zero, %s3 = %zero, %s4 = %zero, %s5 = %zero, %s6 = %zero, %s7 = %zero) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %p0 = vector.transfer_read %panel[%k, %c0], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<16xf32>
    %p1 = vector.transfer_read %panel[%k, %c16], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<16xf32>
    %r0 = arith.constant 0 : index
    %e0 = memref.load %a[%r0, %k] : memref<4x64xf32>
    %b0 = vector.broadcast %e0 : f32 to vector<16xf32>
    %n0 = vector.fma %b0, %p0, %s0 : vector<16xf32>
    %n1 = vector.fma %b0, %p1, %s1 : vector<16xf32>
    %r1 = arith.constant 1 : index
    %e1 = memref.load %a[%r1, %k] : memref<4x64xf32>
    %b1 = vector.broadcast %e1 : f32 to vector<16xf32>
    %n2 = vector.fma %b1, %p0, %s2 : vector<16xf32>
    %n3 = vector.fma %b1, %p1, %s3 : vector<16xf32>
    %r2 = arith.constant 2 : index
    %e2 = memref.load %a[%r2, %k] : memref<4x64xf32>
    %b2 = vector.broadcast %e2 : f32 to vector<16xf32>
    %n4 = vector.fma %b2, %p0, %s4 : vector<16xf32>
    %n5 = vector.fma %b2, %p1, %s5 : vector<16xf32>
    %r3 = arith.constant 3 : index
    %e3 = memref.load %a[%r3, %k] : memref<4x64xf32>
    %b3 = vector.broadcast %e3 : f32 to vector<16xf32>
    %n6 = vector.fma %b3, %p0, %s6 : vector<16xf32>
    %n7 = vector.fma %b3, %p1, %s7 : vector<16xf32>
    scf.yield %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  return %sums#0 : vector<16xf32>
}

// Near miss: a panel that the loop itself makes.
// CHECK-LABEL: @made_inside
func.func @made_inside(%a: memref<5x64xf32>, %panel: memref<64x32xf32>, %zero: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK-NOT: memref.prefetch
  %sums:10 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s0 = %zero, %s1 = %zero, %s2 = %zero, %s3 = %zero, %s4 = %zero, %s5 = %zero, %s6 = %zero, %s7 = %zero, %s8 = %zero, %s9 = %zero) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %view = memref.subview %panel[0, 0] [64, 32] [1, 1] : memref<64x32xf32> to memref<64x32xf32, strided<[32, 1]>>
    %p0 = vector.transfer_read %view[%k, %c0], %f0 {in_bounds = [true]} : memref<64x32xf32, strided<[32, 1]>>, vector<16xf32>
    %p1 = vector.transfer_read %view[%k, %c16], %f0 {in_bounds = [true]} : memref<64x32xf32, strided<[32, 1]>>, vector<16xf32>
    %r0 = arith.constant 0 : index
    %e0 = memref.load %a[%r0, %k] : memref<5x64xf32>
    %b0 = vector.broadcast %e0 : f32 to vector<16xf32>
    %n0 = vector.fma %b0, %p0, %s0 : vector<16xf32>
    %n1 = vector.fma %b0, %p1, %s1 : vector<16xf32>
    %r1 = arith.constant 1 : index
    %e1 = memref.load %a[%r1, %k] : memref<5x64xf32>
    %b1 = vector.broadcast %e1 : f32 to vector<16xf32>
    %n2 = vector.fma %b1, %p0, %s2 : vector<16xf32>
    %n3 = vector.fma %b1, %p1, %s3 : vector<16xf32>
    %r2 = arith.constant 2 : index
    %e2 = memref.load %a[%r2, %k] : memref<5x64xf32>
    %b2 = vector.broadcast %e2 : f32 to vector<16xf32>
    %n4 = vector.fma %b2, %p0, %s4 : vector<16xf32>
    %n5 = vector.fma %b2, %p1, %s5 : vector<16xf32>
    %r3 = arith.constant 3 : index
    %e3 = memref.load %a[%r3, %k] : memref<5x64xf32>
    %b3 = vector.broadcast %e3 : f32 to vector<16xf32>
    %n6 = vector.fma %b3, %p0, %s6 : vector<16xf32>
    %n7 = vector.fma %b3, %p1, %s7 : vector<16xf32>
    %r4 = arith.constant 4 : index
    %e4 = memref.load %a[%r4, %k] : memref<5x64xf32>
    %b4 = vector.broadcast %e4 : f32 to vector<16xf32>
    %n8 = vector.fma %b4, %p0, %s8 : vector<16xf32>
    %n9 = vector.fma %b4, %p1, %s9 : vector<16xf32>
    scf.yield %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8, %n9 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  return %sums#0 : vector<16xf32>
}
