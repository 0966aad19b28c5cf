// RUN: rapt-opt %s --attn-emit-entries --split-input-file --verify-diagnostics | FileCheck %s

module attributes {attn.model = {}} {
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
}

// -----


module attributes {attn.model = {}} {
// expected-error@+1 {{names the dim 'k', which is not declared}}
llvm.func @step(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", attn.dims = ["k"], kind = "input", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}
// -----

// An output's extent may be a product of quotients.
module attributes {attn.model = {}} {
attn.dim @h min 8 max 64
attn.dim @w min 8 max 64
// CHECK: llvm.func @forward(
// CHECK: %[[H:.*]] = llvm.load %{{.*}} -> i64
// CHECK: %[[ROWS:.*]] = llvm.sdiv %[[H]], %{{.*}} : i64
// CHECK: %[[W:.*]] = llvm.load %{{.*}} -> i64
// CHECK: %[[COLUMNS:.*]] = llvm.sdiv %[[W]], %{{.*}} : i64
// CHECK: %[[PATCHES:.*]] = llvm.mul %[[ROWS]], %[[COLUMNS]] : i64
// CHECK: %[[TOKENS:.*]] = llvm.add %[[PATCHES]], %{{.*}} : i64
// CHECK: llvm.call @forward.body({{.*}}, %[[TOKENS]], %{{.*}})
llvm.func @forward(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "y", attn.dims = ["h/8*w/8+1"], kind = "output", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @forward.workspace(%h: i64, %w: i64, %workers: i64) -> i64 {
  llvm.return %workers : i64
}
}

// -----

module attributes {attn.model = {}} {
attn.dim @h min 8 max 64
// expected-error@+1 {{names the extent 'h/0+1', which divides by no number}}
llvm.func @forward(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "y", attn.dims = ["h/0+1"], kind = "output", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}

// -----

module attributes {attn.model = {}} {
attn.dim @h min 8 max 64
// expected-error@+1 {{names the extent 'h+one', which adds no number}}
llvm.func @forward(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "y", attn.dims = ["h+one"], kind = "output", type = memref<?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}
// -----

// A module without a model: a bare kernel with its buffers as arguments. Without an executor its tasks run in the
// caller's thread; dims that give no size give a status.
// CHECK: llvm.func @scale(%[[ENV:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %[[Y:.*]]: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr, %[[SCRATCH:.*]]: !llvm.ptr) -> i32
// CHECK-SAME: attn.dims = ["n"]
// CHECK: %[[SERIAL:.*]] = llvm.mlir.addressof @serial_environment
// CHECK: %[[CHOSEN:.*]] = llvm.select %{{.*}}, %[[SERIAL]], %[[ENV]]
// CHECK: %[[USED:.*]] = llvm.select %{{.*}}, %[[SERIAL]], %[[CHOSEN]]
// CHECK: %[[BYTES:.*]] = llvm.call @scale_scratch(%[[DIMS]]
// CHECK: %[[GOOD:.*]] = llvm.icmp "sge" %[[BYTES]]
// CHECK: llvm.cond_br %[[GOOD]]
// CHECK: %[[STATUS:.*]] = llvm.mlir.constant(-1 : i32)
// CHECK: llvm.return %[[STATUS]]
// CHECK: llvm.call @scale.body(%[[USED]], %[[SCRATCH]], {{.*}}%[[SCRATCH]], {{.*}}%[[X]], %[[X]], {{.*}}%[[Y]], %[[Y]]
// CHECK: llvm.func @scale_scratch(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i64
// CHECK: llvm.icmp "sge"
// CHECK: llvm.icmp "sle"
// CHECK: smul.with.overflow
// CHECK: llvm.func internal @scale.workspace_body
// CHECK: sadd.with.overflow
// CHECK: llvm.select
attn.dim @other min 0 max 3
attn.dim @n min 0 max 64
llvm.func @scale(%env: !llvm.ptr, %w0: !llvm.ptr, %w1: !llvm.ptr, %wo: i64, %ws: i64, %wt: i64, %s0: !llvm.ptr, %s1: !llvm.ptr, %so: i64, %ss: i64, %st: i64,
                 %x0: !llvm.ptr, %x1: !llvm.ptr, %xo: i64, %xs: i64, %xt: i64, %y0: !llvm.ptr, %y1: !llvm.ptr, %yo: i64, %ys: i64, %yt: i64) -> i32
    attributes {attn.entry, attn.buffers = [
      {attn.name = "weights", kind = "weights", type = memref<?xi8>}, {attn.name = "workspace", kind = "workspace", type = memref<?xi8>},
      {attn.name = "x", kind = "input", type = memref<?xf32>, attn.dims = ["n"]}, {attn.name = "y", kind = "output", type = memref<4xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @scale.workspace(%other: i64, %n: i64, %workers: i64) -> i64 {
  %0 = llvm.add %n, %workers : i64
  llvm.return %0 : i64
}

// -----

module {
attn.parameter @w : tensor<8xf32> from [#attn.source<"w">]
// expected-error@+1 {{is a kernel, which has no weights: pass them as arguments}}
llvm.func @kernel(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", kind = "input", type = memref<4xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}

// -----

module {
// expected-error@+1 {{has no function 'kernel.workspace'}}
llvm.func @kernel(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", kind = "input", type = memref<4xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}

// -----

module attributes {attn.model = {}} {
// expected-error@+1 {{has no function 'step.workspace'}}
llvm.func @step(%env: !llvm.ptr, %p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {attn.entry, attn.buffers = [{attn.name = "x", kind = "input", type = memref<4xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}

// -----

module attributes {attn.model = {}} {
llvm.func @step.body() {
  llvm.return
}
// expected-error@+1 {{needs the name 'step.body', which is taken}}
llvm.func @step() -> i32 attributes {attn.entry, attn.buffers = []} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
}

// -----

// expected-error@+1 {{'llvm.func' op is an entry without attn.buffers}}
llvm.func @bare() -> i32 attributes {attn.entry} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}

// -----

// expected-error@+1 {{has a buffer without a kind, a memref type and the names of its dims: {attn.dims = ["n"], kind = "input", type = memref<?x?xf32>}}}
llvm.func @nameless() -> i32 attributes {attn.entry, attn.buffers = [{attn.dims = ["n"], kind = "input", type = memref<?x?xf32>}]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
