//===- Tail.cpp - The CPU's end of the pipeline -----------------------------------===//
//
// No CSE between tensor.empty and bufferisation: it would merge buffers that must stay
// apart, and make copies.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tail.h"
#include "lib/Target/CPU/Passes.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void rapt::cpu::addBackendPasses(OpPassManager &passes) {
  passes.addPass(createAttnDecomposeAttention());
  passes.addPass(createAttnVectorize());
  passes.addPass(createAttnLowerEntries());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(bufferization::createOneShotBufferizePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createCanonicalizerPass()); // copies of a buffer onto itself go once CSE has made both sides one value
  passes.addPass(createAttnLowerCopies());
  passes.addPass(createAttnOutlineParallel());
  passes.addPass(createAttnPlanMemory());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createAttnLowerProducts());
  passes.addPass(createAttnLowerQuantizedProducts());
  passes.addPass(createAttnEmulateMatrixInstructions());
  passes.addPass(createAttnVerifyBackend());
}

void rapt::cpu::addLLVMPasses(OpPassManager &passes) {
  passes.addPass(createAttnExpandMath());
  passes.addPass(createConvertVectorToSCFPass(VectorTransferToSCFOptions().enableFullUnroll()));
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createAttnToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
  // Blocks are as the conversions made them; looking for equal ones finds none.
  passes.addPass(
      createCanonicalizerPass(GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)));
  passes.addPass(createCSEPass());
  passes.addPass(createAttnEmitEntries());
}
