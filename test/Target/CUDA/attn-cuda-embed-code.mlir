// RUN: rapt-opt %s --attn-cuda-embed-code | FileCheck %s

// Text ends with a NUL that its size does not count; kernels are counted, however often they are launched.
// CHECK: llvm.mlir.global internal constant @rapt.device_code() {{.*}} {
// CHECK-DAG: %[[CUDA:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-DAG: %[[KERNELS:.*]] = llvm.mlir.constant(1 : i64) : i64
// CHECK-DAG: %[[IMAGES:.*]] = llvm.mlir.addressof @rapt.device_images
// CHECK: llvm.insertvalue %[[CUDA]], %{{.*}}[0]
// CHECK: llvm.insertvalue %{{.*}}, %{{.*}}[1]
// CHECK: llvm.insertvalue %[[IMAGES]], %{{.*}}[2]
// CHECK: llvm.insertvalue %[[KERNELS]], %{{.*}}[3]
// CHECK-NOT: gpu.binary
// CHECK-DAG: @rapt.device_arch0("sm_80\00")
// CHECK-DAG: @rapt.device_image0(".version 8.0\00")
// CHECK-DAG: @rapt.device_image1("ELF")
// CHECK: @rapt.device_images() {{.*}}!llvm.array<2 x struct<(ptr, ptr, i64, i32, i32)>>
// CHECK: llvm.mlir.constant(12 : i64) : i64
// CHECK: llvm.mlir.constant(3 : i64) : i64
llvm.mlir.global external constant @rapt.device_code() {addr_space = 0 : i32} : !llvm.struct<(i32, i32, ptr, i64)>
llvm.mlir.global internal constant @a.name("a\00") {addr_space = 0 : i32}
llvm.mlir.global internal constant @a.kernel(0 : i32) {addr_space = 0 : i32} : i32
llvm.mlir.global internal constant @a.kernel.3(0 : i32) {addr_space = 0 : i32} : i32
gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = ".version 8.0">, #gpu.object<#nvvm.target<chip = "sm_80">, bin = "ELF">]
