// RUN: rapt-opt %s --pass-pipeline='builtin.module(gpu.module(attn-gpu-to-nvvm,canonicalize,cse))' | FileCheck %s

!tile = !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>
!keys = !attn_gpu.tile<8x64xbf16, #attn_gpu.swizzle<64>>
!values = !attn_gpu.tile<16x64xf16, #attn_gpu.swizzle<128>>
!acc = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
!narrow = !attn_gpu.fragment<64x8xf32, #attn_gpu.wgmma<acc>>
!a = !attn_gpu.fragment<64x16xf16, #attn_gpu.wgmma<a>>

gpu.module @sm_90a [#nvvm.target<chip = "sm_90a", features = "+ptx86">] {
  // Each box of columns is a copy of its own.
  // CHECK-LABEL: llvm.func @tiles
  // CHECK-SAME: %[[MAP:.*]]: !llvm.ptr, %[[X:.*]]: i32
  llvm.func @tiles(%map: !llvm.ptr, %x: i32) {
    %c0 = arith.constant 0 : index
    %c16384 = arith.constant 16384 : index
    %t = attn_gpu.shared %c0 : !tile
    // CHECK: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED:.*]][16384]
    %b = attn_gpu.shared %c16384 : !attn_gpu.mbarrier
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[SHARED]], %[[MAP]], %[[BARRIER]], box[%[[X]], %[[X]]] {isCTAOnly = true}
    // CHECK: %[[COLUMN:.*]] = arith.addi %[[X]], %c64_i32 : i32
    // CHECK: %[[BOX:.*]] = llvm.getelementptr %[[SHARED]][8192]
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[BOX]], %[[MAP]], %[[BARRIER]], box[%[[COLUMN]], %[[X]]] {isCTAOnly = true}
    attn_gpu.load_tile %map[%x, %x] to %t arrive %b : !tile
    // Accesses of memory stay behind the wait.
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}"
    attn_gpu.wait_for_kernel
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %[[SHARED]], box[%[[X]], %[[X]]]
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %[[BOX]], box[%[[COLUMN]], %[[X]]]
    attn_gpu.store_tile %t to %map[%x, %x] : !tile
    llvm.return
  }

  // CHECK-LABEL: llvm.func @barriers
  // CHECK-SAME: %[[X:.*]]: i32
  llvm.func @barriers(%x: i32) {
    %c0 = arith.constant 0 : index
    %b = attn_gpu.shared %c0 : !attn_gpu.mbarrier
    // CHECK: nvvm.mbarrier.init %[[B:.*]], %c8_i32
    attn_gpu.mbarrier_init %b arrivals 8
    %one = nvvm.elect.sync -> i1
    scf.if %one {
      // CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.arrive.expect_tx.shared.b64 state, [$0], $1; }", "l,r,~{memory}" %[[B]], %c4096_i32
      attn_gpu.mbarrier_expect %b bytes 4096
      // CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.arrive.shared.b64 state, [$0]; }", "l,~{memory}" %[[B]]
      attn_gpu.mbarrier_arrive %b
    }
    // CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity.shared.b64 done, [$0], $1; @!done bra WAIT; }", "l,r,~{memory}" %[[B]], %[[X]]
    attn_gpu.mbarrier_wait %b parity %x
    // CHECK: "bar.sync $0, $1;", "r,r,~{memory}" %[[X]], %c256_i32
    attn_gpu.barrier_sync %x threads 256
    // CHECK: "bar.arrive $0, $1;", "r,r,~{memory}" %[[X]], %c256_i32
    attn_gpu.barrier_arrive %x threads 256
    llvm.return
  }

  // Descriptors: 1 << 62, 2 << 62 or 3 << 62 for 128, 64 or 32 bytes, 8 rows << 32, for values the stride of boxes << 16.
  // CHECK-LABEL: llvm.func @matmuls
  llvm.func @matmuls(%p: !llvm.ptr<1>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %q = attn_gpu.shared %c0 : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>>
    %c8192 = arith.constant 8192 : index
    %k = attn_gpu.shared %c8192 : !keys
    // CHECK-DAG: %[[KEYS:.*]] = arith.constant -9223371899415756800 : i64
    // CHECK-DAG: %[[VALUES:.*]] = arith.constant 4611686293313683456 : i64
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.fence.sync.aligned;", "~{memory}"
    attn_gpu.wgmma_fence
    // 4 k16 of a tile with two boxes of 32 columns: the second box of 64 rows is 4096 bytes from the first.
    // CHECK: arith.ori %{{.*}}, %[[KEYS]] : i64
    // CHECK: %[[Q:.*]] = arith.ori %{{.*}}, %[[KEYS]] : i64
    // CHECK: %[[FIRST:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred add; setp.ne.b32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, add, 1, 1, 0, 0; }", "=&f,=&f,=&f,=&f,l,l,~{memory}" %[[Q]]
    // CHECK: %[[S0:.*]] = llvm.extractvalue %[[FIRST]][0]
    // CHECK: setp.ne.b32 add, 1, 0; wgmma{{.*}}"=&f,=&f,=&f,=&f,l,l,0,1,2,3,~{memory}" %{{[^,]*}}, %{{[^,]*}}, %[[S0]]
    // CHECK: arith.addi %[[Q]], %c256_i64 : i64
    // CHECK-COUNT-2: m64n8k16
    %s = attn_gpu.wgmma %q, %k transpose : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>>, !keys -> !narrow
    // CHECK: nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.commit.group.sync.aligned
    // CHECK: %[[WAITED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}"
    // CHECK: llvm.extractvalue %[[WAITED]][0]
    %done = attn_gpu.wgmma_wait 0(%s : !narrow)
    attn_gpu.store_fragment %done, %p[%c0, %c0] stride %c64 of f32 : !narrow
    %v = attn_gpu.shared %c0 : !values
    %a = attn_gpu.load_fragment %p[%c0, %c0] stride %c64 of f16 : !a
    // CHECK: %[[FENCED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.fence.sync.aligned;", "=r,=r,=r,=r,0,1,2,3,~{memory}"
    // CHECK: %[[A0:.*]] = llvm.extractvalue %[[FENCED]][0]
    %fenced = attn_gpu.wgmma_fence(%a : !a)
    // CHECK: %[[V:.*]] = arith.ori %{{.*}}, %[[VALUES]] : i64
    // CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, {$32, $33, $34, $35}, $36, add, 1, 1, 1; }", {{.*}}r,r,r,r,l,~{memory}" %[[A0]], %{{.*}}, %[[V]]
    %o = attn_gpu.wgmma %fenced, %v : !a, !values -> !acc
    nvvm.wgmma.commit.group.sync.aligned
    %out = attn_gpu.wgmma_wait 0(%o : !acc)
    %t = attn_gpu.shared %c0 : !attn_gpu.tile<64x64xf16, #attn_gpu.swizzle<128>>
    // CHECK: nvvm.convert.f32x2.to.f16x2
    // CHECK-COUNT-4: nvvm.stmatrix %{{.*}}layout = #nvvm.mma_layout<row>{{.*}} : !llvm.ptr<3>, i32, i32, i32, i32
    attn_gpu.store_matrix %out, %t[%c0, %c0] : !acc, !attn_gpu.tile<64x64xf16, #attn_gpu.swizzle<128>>
    llvm.return
  }

  // A thread has 16 registers for its two rows; two of each row are of the 8 columns from 16 on.
  // CHECK-LABEL: llvm.func @columns
  llvm.func @columns(%p: !llvm.ptr<1>) {
    %c0 = arith.constant 0 : index
    %c8192 = arith.constant 8192 : index
    %s = attn_gpu.shared %c0 : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
    %k = attn_gpu.shared %c8192 : !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
    attn_gpu.wgmma_fence
    %0 = attn_gpu.wgmma %s, %k transpose : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>
    nvvm.wgmma.commit.group.sync.aligned
    // CHECK: %[[ALL:.*]] = llvm.inline_asm {{.*}}wgmma.wait_group
    // CHECK-DAG: %[[S8:.*]] = llvm.extractvalue %[[ALL]][8]
    // CHECK-DAG: %[[S9:.*]] = llvm.extractvalue %[[ALL]][9]
    // CHECK-DAG: %[[S10:.*]] = llvm.extractvalue %[[ALL]][10]
    // CHECK-DAG: %[[S11:.*]] = llvm.extractvalue %[[ALL]][11]
    // CHECK: nvvm.convert.f32x2.to.bf16x2 %[[S9]], %[[S8]]
    // CHECK: nvvm.convert.f32x2.to.bf16x2 %[[S11]], %[[S10]]
    %1 = attn_gpu.wgmma_wait 0(%0 : !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>)
    %2 = attn_gpu.columns %1 from 16 : !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x8xf32, #attn_gpu.wgmma<acc>>
    attn_gpu.store_fragment %2, %p[%c0, %c0] stride %c8192 of bf16 : !attn_gpu.fragment<64x8xf32, #attn_gpu.wgmma<acc>>
    llvm.return
  }
}
