// RUN: rapt-opt %s --attn-to-llvm --reconcile-unrealized-casts | FileCheck %s

// The closure is in the first block, not in the loop; a non-zero answer leaves the entry.
// CHECK-LABEL: llvm.func @run
// CHECK: %[[CLOSURE:.*]] = llvm.alloca {{.*}} !llvm.struct<(f32)>
// CHECK: llvm.store %{{.*}} : f32
// CHECK: %[[TASK:.*]] = llvm.mlir.addressof @task.thunk
// CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%{{.*}}, %[[TASK]], %[[CLOSURE]], %{{.*}})
// CHECK: %[[FAILED:.*]] = llvm.icmp "ne" %[[STATUS]]
// CHECK: llvm.cond_br %[[FAILED]], ^[[LEAVE:.*]], ^
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: llvm.return %[[STATUS]] : i32
func.func private @task(%x: f32, %begin: index, %end: index, %worker: index) {
  return
}
func.func @run(%env: !llvm.ptr, %x: f32, %n: index) -> i32 {
  %s = arith.constant 0 : i32
  attn.parallel_for @task(%x) count %n env %env : (f32), !llvm.ptr
  return %s : i32
}
// CHECK: llvm.func internal @task.thunk(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: llvm.call @task
