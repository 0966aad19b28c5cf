// RUN: rapt-opt %s --attn-to-llvm="kept=gpu,nvvm" | FileCheck %s

// A tensor map is 128 bytes on the entry's stack. A kernel that takes it gets them first in its arguments.
// CHECK-LABEL: llvm.func @mapped
// CHECK-DAG: %[[MAP:.*]] = llvm.alloca %{{.*}} x !llvm.array<16 x i64> {alignment = 64 : i64}
// CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[MAP]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: %[[MADE:.*]] = llvm.icmp "ne" %[[STATUS]]
// CHECK: %[[BYTES:.*]] = llvm.load %[[MAP]] : !llvm.ptr -> !llvm.array<16 x i64>
// CHECK: llvm.store %[[BYTES]]
// CHECK: llvm.store %[[MADE]]
gpu.module @mapping {
  func.func @copy(%map: !llvm.ptr, %made: i1) attributes {attn_host.kernel = #attn_host.kernel<threads = 128, maps = 1>} {
    return
  }
}
func.func @mapped(%env: !llvm.ptr, %x: memref<?x8x64xbf16>, %n: index) -> i32 {
  %c0 = arith.constant 0 : i32
  %map, %made = attn_host.tensor_map %x dims [2, 0, 1] box [64, 16, 1] swizzle 128 env %env : memref<?x8x64xbf16>, !llvm.ptr
  attn_host.launch @mapping::@copy(%map, %made) blocks %n env %env : (!llvm.ptr, i1), !llvm.ptr
  return %c0 : i32
}
