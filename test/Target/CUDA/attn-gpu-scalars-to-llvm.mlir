// RUN: rapt-opt %s --pass-pipeline='builtin.module(gpu.module(attn-gpu-scalars-to-llvm))' | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: llvm.func @f
  llvm.func @f(%x: i32, %y: f32, %n: i32) -> f32 {
    %i = arith.index_cast %x : i32 to index
    // CHECK: %[[SUM:.*]] = llvm.add %{{.*}}, %{{.*}} : i32
    %sum = arith.addi %i, %i : index
    %bound = arith.index_cast %n : i32 to index
    // CHECK: %[[INSIDE:.*]] = llvm.icmp "slt" %[[SUM]], %{{.*}} : i32
    %isInside = arith.cmpi slt, %sum, %bound : index
    // CHECK: llvm.cond_br %[[INSIDE]]
    cf.cond_br %isInside, ^bb1, ^bb2
  ^bb1:
    // CHECK: llvm.intr.fma
    %fma = math.fma %y, %y, %y : f32
    // CHECK: llvm.intr.maxnum
    %max = arith.maxnumf %fma, %y : f32
    llvm.return %max : f32
  ^bb2:
    llvm.return %y : f32
  }
}
