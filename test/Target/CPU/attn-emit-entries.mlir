// RUN: rapt-opt %s --attn-emit-entries --split-input-file --verify-diagnostics | FileCheck %s

attn.dim @n min 0 max 64
attn.dim @m min 0 max 64
// CHECK: llvm.func internal @step.body
// CHECK: llvm.func @step(%{{.*}}: !llvm.ptr, %[[BUFFERS:.*]]: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr) -> i32 attributes {{.*}}attn.entry
// CHECK: llvm.getelementptr %[[BUFFERS]][0]
// CHECK: llvm.getelementptr %[[DIMS]][1]
// CHECK: llvm.add
// CHECK: llvm.call @step.body
// CHECK: llvm.func @step.workspace(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i64
llvm.func @step(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", attn.dims = ["m+1"], kind = "input", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @step.workspace(%n: i64, %m: i64, %workers: i64) -> i64 {
  llvm.return %workers : i64
}

// -----

// expected-error@+1 {{names the dim 'k', which is not declared}}
llvm.func @step(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", attn.dims = ["k"], kind = "input", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
