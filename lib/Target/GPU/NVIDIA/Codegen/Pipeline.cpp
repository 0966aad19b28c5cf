//===- Pipeline.cpp - The passes from attn_gpu to the LLVM dialect --------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Host/Passes.h"
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_REGISTRATION
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

void cuda::registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<attn_gpu::AttnGPUDialect, gpu::GPUDialect, NVVM::NVVMDialect>();
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void cuda::addCodegenPasses(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(createAttnGPUToNVVM());
  kernels.addPass(createCSEPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createAttnExpandMath());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createAttnGPUScalarsToLLVM());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void cuda::registerCodegenPasses() {
  registerCUDACodegenPasses();
  registerGpuModuleToBinaryPass();
  PassPipelineRegistration<>("attn-gpu-to-llvm", "lowers kernels of attn_gpu to the LLVM dialect", addCodegenPasses);
}
