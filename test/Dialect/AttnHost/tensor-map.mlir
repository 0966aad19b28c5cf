// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: %{{.*}}, %[[MADE:.*]] = attn_host.tensor_map %{{.*}} dims [3, 1, 2, 0] box [64, 128, 1, 1] swizzle 128 env %{{.*}} : memref<?x?x8x64xbf16>, !llvm.ptr
// CHECK: return %[[MADE]]
func.func @f(%env: !llvm.ptr, %x: memref<?x?x8x64xbf16>) -> i1 {
  %map, %made = attn_host.tensor_map %x dims [3, 1, 2, 0] box [64, 128, 1, 1] swizzle 128 env %env : memref<?x?x8x64xbf16>, !llvm.ptr
  return %made : i1
}
