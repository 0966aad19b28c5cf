// RUN: rapt-opt %s --attn-cuda-lower-kernels | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.func internal @helper(%{{.*}}: i64) attributes {always_inline}
  llvm.func @helper(%x: i64) {
    llvm.return
  }
  // CHECK: llvm.func @k(%[[ARGUMENTS:.*]]: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.struct<(f32, ptr, i64)>}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 96, 1, 1>}
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[ARGUMENTS]][0, 2]
  // CHECK: %[[N:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
  // CHECK: llvm.call @helper(%[[N]])
  llvm.func @k(%s: f32, %x: !llvm.ptr, %n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 96>} {
    llvm.call @helper(%n) : (i64) -> ()
    llvm.return
  }
}
// A tensor map is read by hardware where it is: the kernel's own copy of its argument.
gpu.module @maps {
  // CHECK: llvm.func @m(%[[ARGUMENTS:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.struct<(array<16 x i64>, i64)>, nvvm.grid_constant}) attributes {nvvm.kernel
  // CHECK: %[[MAP:.*]] = llvm.getelementptr %[[ARGUMENTS]][0, 0]
  // CHECK: nvvm.prefetch tensormap, %[[MAP]]
  llvm.func @m(%map: !llvm.ptr, %n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 96, maps = 1>} {
    nvvm.prefetch tensormap, %map : !llvm.ptr
    llvm.return
  }
}
// The kernel behind one that overlaps may start as soon as all thread blocks of this one have.
gpu.module @overlaps {
  // CHECK: llvm.func @o(%[[ARGUMENTS:.*]]: !llvm.ptr
  // CHECK: llvm.load
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: llvm.inline_asm
  llvm.func @o(%n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 96, overlaps = true>} {
    llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}" : () -> ()
    llvm.return
  }
}
// The host program's functions stay.
// CHECK: llvm.func @host(%{{.*}}: i64) {
llvm.func @host(%x: i64) {
  llvm.return
}
