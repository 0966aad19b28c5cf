// RUN: rapt-opt %s --pass-pipeline='builtin.module(gpu.module(attn-gpu-to-nvvm))' --verify-diagnostics --split-input-file

gpu.module @ampere [#nvvm.target<chip = "sm_80">] {
  llvm.func @f() {
    // expected-error@+2 {{'attn_gpu.wait_for_kernel' op needs sm_90 or newer, found sm_80}}
    // expected-error@+1 {{failed to legalize operation 'attn_gpu.wait_for_kernel'}}
    attn_gpu.wait_for_kernel
    llvm.return
  }
}

// -----

gpu.module @hopper_without_its_own_instructions [#nvvm.target<chip = "sm_90">] {
  llvm.func @f() {
    attn_gpu.wait_for_kernel
    // expected-error@+2 {{'attn_gpu.wgmma_fence' op needs sm_90a, found sm_90}}
    // expected-error@+1 {{failed to legalize operation 'attn_gpu.wgmma_fence'}}
    attn_gpu.wgmma_fence
    llvm.return
  }
}

// -----

gpu.module @unknown {
  llvm.func @f(%offset: i32) {
    %i = arith.index_cast %offset : i32 to index
    %b = attn_gpu.shared %i : !attn_gpu.mbarrier
    // expected-error@+2 {{'attn_gpu.mbarrier_wait' op needs sm_90 or newer, found no target}}
    // expected-error@+1 {{failed to legalize operation 'attn_gpu.mbarrier_wait'}}
    attn_gpu.mbarrier_wait %b parity %offset
    llvm.return
  }
}

// -----

gpu.module @taken [#nvvm.target<chip = "sm_80">] {
  // expected-error@+1 {{the name 'attn_gpu_shared' is that of the kernels' shared memory}}
  llvm.func @attn_gpu_shared(%offset: i32) {
    %i = arith.index_cast %offset : i32 to index
    %b = attn_gpu.shared %i : !attn_gpu.mbarrier
    llvm.return
  }
}
