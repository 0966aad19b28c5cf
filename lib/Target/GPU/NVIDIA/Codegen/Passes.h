//===- Passes.h - Passes that lower attn_gpu ------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h.inc"
} // namespace rapt

namespace rapt::cuda {
/// The dialects of the passes, and the translation of gpu.module to PTX.
void registerCodegenDialects(mlir::DialectRegistry &registry);
/// The passes, upstream's that follow them, and the pipeline attn-gpu-to-llvm.
void registerCodegenPasses();
/// Kernels of attn_gpu, scf and arith in each gpu.module of a module become the LLVM dialect. An index has 32 bits.
void addCodegenPasses(mlir::OpPassManager &manager);
} // namespace rapt::cuda
