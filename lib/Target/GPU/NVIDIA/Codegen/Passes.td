//===- Passes.td - Lowers attn_gpu to instructions of NVIDIA GPUs -----*- tablegen -*-===//
#ifndef RAPT_TARGET_CUDA_CODEGEN_PASSES_TD
#define RAPT_TARGET_CUDA_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnGPUToNVVM : Pass<"attn-gpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lowers attn_gpu to nvvm and llvm";
  let description = [{
    A fragment becomes one value for each register of a thread: f32 of accumulators, i32 of pairs of 16-bit operands. `scf` carries them as so many values. A tile or an mbarrier becomes a pointer into shared memory, which is the global `attn_gpu_shared`.
    Regions of `attn_gpu.map` are inlined for each element. `math.exp2`, `math.exp`, `math.log2`, `math.tanh` and `arith.divf` of f32 with `fastmath<afn>` become approximate instructions. `math.tanh` without it becomes a formula without branches, and
    `arith.divf` by a constant of 2^-12 to 2^12 a multiplication with a correction.

    The chip of the module's `#nvvm.target` decides between instructions (`stmatrix` from sm_90 on), and an op that it does not have is an error.

    ```mlir
    gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
      llvm.func @f(%x: f32) {
        %0 = attn_gpu.fill %x : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
        %1 = attn_gpu.reduce_lanes max %0 : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
        llvm.return
      }
    }
    ```
    becomes (for each of the two rows of a thread)
    ```
    %0 = nvvm.shfl.sync bfly %all, %x, %c1, %c31 : f32 -> f32
    %1 = arith.maxnumf %x, %0 fastmath<nnan> : f32
    %2 = nvvm.shfl.sync bfly %all, %1, %c2, %c31 : f32 -> f32
    %3 = arith.maxnumf %1, %2 fastmath<nnan> : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def AttnGPUScalarsToLLVM : Pass<"attn-gpu-scalars-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "converts scalars and branches of kernels to the llvm dialect";
  let description = [{
    Converts `arith`, `cf` and `math`. An index has 32 bits, as GPUs compute it in one instruction; addresses in global memory have 64 bits before.

    ```mlir
    gpu.module @m {
      llvm.func @f(%x: i32) -> i32 {
        %i = arith.index_cast %x : i32 to index
        %0 = arith.addi %i, %i : index
        %y = arith.index_cast %0 : index to i32
        llvm.return %y : i32
      }
    }
    ```
    becomes
    ```mlir
    gpu.module @m {
      llvm.func @f(%x: i32) -> i32 {
        %0 = llvm.add %x, %x : i32
        llvm.return %0 : i32
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
