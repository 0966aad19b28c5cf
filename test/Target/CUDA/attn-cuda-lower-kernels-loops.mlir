// RUN: rapt-opt %s --attn-cuda-lower-kernels | FileCheck %s

// Kernels with shared memory keep their schedule: loops are not unrolled, those of functions that they call neither, and ptxas does not spill registers for more
// blocks. Other kernels are left alone.
// CHECK-DAG: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[$LOOP:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
gpu.module @tiles {
  // CHECK: llvm.func internal @steps
  // CHECK: llvm.br ^bb1(%{{.*}} : i64){{$}}
  // CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[$LOOP]]}
  llvm.func @steps(%n: i64) {
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^bb1(%one : i64)
  ^bb1(%i: i64):
    %more = llvm.icmp "slt" %i, %n : i64
    llvm.cond_br %more, ^bb2, ^bb3
  ^bb2:
    %next = llvm.add %i, %one : i64
    llvm.br ^bb1(%next : i64)
  ^bb3:
    llvm.return
  }
  // CHECK: llvm.func @tile({{.*}}) attributes {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 64, 1, 1>}
  // CHECK: llvm.cond_br %{{.*}}, ^bb1(%{{.*}} : i64), ^bb2 {loop_annotation = #[[$LOOP]]}
  llvm.func @tile(%n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 64, shared = 1024>} {
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^bb1(%one : i64)
  ^bb1(%i: i64):
    llvm.call @steps(%n) : (i64) -> ()
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^bb1(%next : i64), ^bb2
  ^bb2:
    llvm.return
  }
}
gpu.module @points {
  // CHECK: llvm.func @point
  // CHECK-NOT: loop_annotation
  llvm.func @point(%n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 64>} {
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^bb1(%one : i64)
  ^bb1(%i: i64):
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^bb1(%next : i64), ^bb2
  ^bb2:
    llvm.return
  }
}

// Warpgroups that set their numbers of registers are not told of blocks.
gpu.module @warpgroups {
  // CHECK-LABEL: llvm.func @warpgroup(
  // CHECK-SAME: attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>}
  llvm.func @warpgroup() attributes {attn_host.kernel = #attn_host.kernel<threads = 256, shared = 1024>} {
    nvvm.setmaxregister increase 240
    llvm.return
  }
}
