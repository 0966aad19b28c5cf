//===- Tail.cpp - The CPU's end of the pipeline -----------------------------------===//
//
// No CSE between tensor.empty and bufferization: it would merge buffers that must stay
// apart, and make copies.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tail.h"
#include "lib/Host/Passes.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {
/// The canonicalizer without what finds nothing in this code: blocks are as the passes made them, none are equal, and
/// going over all ops again changes none.
std::unique_ptr<Pass> createFolding() {
  return createCanonicalizerPass(
      GreedyRewriteConfig().setMaxIterations(1).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
}
} // namespace

void rapt::cpu::addBackendPasses(OpPassManager &passes) {
  passes.addPass(createAttnDecomposeAttention());
  passes.addPass(createAttnVectorize());
  passes.addPass(createAttnLowerEntries());
  passes.addPass(createFolding());
  passes.addPass(bufferization::createOneShotBufferizePass());
  passes.addPass(createFolding());
  passes.addPass(createCSEPass());
  passes.addPass(createFolding()); // copies of a buffer onto itself go once CSE has made both sides one value
  passes.addPass(createAttnLowerCopies());
  passes.addPass(createAttnOutlineParallel());
  passes.addPass(createAttnPlanMemory());
  passes.addPass(createFolding());
  passes.addPass(createAttnLowerProducts());
  passes.addPass(createAttnLowerQuantizedProducts());
  passes.addPass(createAttnEmulateMatrixInstructions());
  passes.addPass(createAttnVerifyBackend());
}

void rapt::cpu::addLLVMPasses(OpPassManager &passes) {
  passes.addPass(createAttnExpandMath());
  passes.addPass(createAttnLowerVectors());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createAttnToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createFolding());
  passes.addPass(createCSEPass());
  passes.addPass(createAttnEmitEntries());
}
