// RUN: rapt-opt %s --attn-to-llvm=kept=gpu --reconcile-unrealized-casts | FileCheck %s

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
  attn_host.parallel_for @task(%x) count %n env %env : (f32), !llvm.ptr
  return %s : i32
}
// Numbers of bf16 go through memory as integers, those of f32 as they are.
// CHECK-LABEL: llvm.func @copy
// CHECK: %[[LOADED:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<4xi16>
// CHECK: %[[NUMBERS:.*]] = llvm.bitcast %[[LOADED]] : vector<4xi16> to vector<4xbf16>
// CHECK: %[[MOVED:.*]] = llvm.bitcast %[[NUMBERS]] : vector<4xbf16> to vector<4xi16>
// CHECK: llvm.store %[[MOVED]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
func.func @copy(%x: memref<4xbf16>, %y: memref<4xbf16>, %z: memref<4xf32>, %i: index) -> vector<4xf32> {
  %0 = vector.load %x[%i] : memref<4xbf16>, vector<4xbf16>
  vector.store %0, %y[%i] : memref<4xbf16>, vector<4xbf16>
  %1 = vector.load %z[%i] : memref<4xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

// A launch hands over a constant that describes the kernel and the launch's dispatch, and a struct of the captures; its
// failure ends the entry.
// CHECK-LABEL: llvm.func @launching
// CHECK: %[[ARGUMENTS:.*]] = llvm.alloca {{.*}} x !llvm.struct<(f32, i64)>
// CHECK: llvm.store %{{.*}} : f32
// CHECK: llvm.store %{{.*}} : i64
// CHECK: llvm.getelementptr %{{.*}}[0, 3]
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @scale.kernel
// CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%{{.*}}, %[[KERNEL]], %[[ARGUMENTS]], %{{.*}})
// CHECK: llvm.icmp "ne" %[[STATUS]]
gpu.module @kernels {
  func.func @other() attributes {attn_host.kernel = #attn_host.kernel<threads = 32>} {
    return
  }
  func.func @scale(%x: f32, %n: index) attributes {attn_host.kernel = #attn_host.kernel<threads = 128, shared = 64>} {
    return
  }
}
func.func @launching(%env: !llvm.ptr, %x: f32, %n: index) -> i32 {
  %s = arith.constant 0 : i32
  attn_host.launch @kernels::@scale(%x, %n) blocks %n env %env : (f32, index), !llvm.ptr
  return %s : i32
}
// CHECK-LABEL: llvm.func @launching_a_dispatch
// CHECK: llvm.mlir.addressof @scale.kernel.4
func.func @launching_a_dispatch(%env: !llvm.ptr, %x: f32, %n: index) -> i32 {
  %s = arith.constant 0 : i32
  attn_host.launch @kernels::@scale(%x, %n) blocks %n env %env {attn.dispatch = 4 : i64} : (f32, index), !llvm.ptr
  return %s : i32
}
// CHECK: llvm.func internal @task.thunk(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: llvm.call @task
// CHECK: llvm.mlir.global external constant @rapt.device_code()
// CHECK: llvm.mlir.global internal constant @scale.name("scale\00")
// CHECK: llvm.mlir.global internal constant @scale.kernel()
// CHECK: llvm.mlir.addressof @rapt.device_code
// CHECK: llvm.mlir.addressof @scale.name
// CHECK: llvm.mlir.constant(1 : i32) : i32
// CHECK: llvm.mlir.constant(128 : i32) : i32
// CHECK: llvm.mlir.constant(64 : i32) : i32
// CHECK: llvm.mlir.constant(16 : i32) : i32
// CHECK: llvm.mlir.constant(-1 : i64) : i64
// CHECK-NOT: @scale.name(
// CHECK: llvm.mlir.global internal constant @scale.kernel.4()
// CHECK: llvm.mlir.addressof @scale.name
// CHECK: llvm.mlir.constant(4 : i64) : i64
