//===- Pipeline.cpp - The passes from attn_gpu to the LLVM dialect --------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/CUDA/Codegen/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
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

using namespace mlir;
using namespace rapt;

void cuda::registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<attn_gpu::AttnGPUDialect, gpu::GPUDialect, NVVM::NVVMDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void cuda::addCodegenPasses(OpPassManager &manager) {
  constexpr unsigned kIndexBits = 32; // an address in global memory is computed with 64
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(createAttnGPUToNVVM());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertNVVMToLLVMPass());
  // Before the next pass, which lowers arith.maxnumf to calls of libdevice.
  kernels.addPass(createArithToLLVMConversionPass(ArithToLLVMConversionPassOptions{kIndexBits}));
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = kIndexBits;
  kernels.addPass(createConvertGpuOpsToNVVMOps(options));
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void cuda::registerCodegenPasses() {
  registerCUDACodegenPasses();
  registerGpuModuleToBinaryPass();
  PassPipelineRegistration<>("attn-gpu-to-llvm", "lowers kernels of attn_gpu to the LLVM dialect", addCodegenPasses);
}
