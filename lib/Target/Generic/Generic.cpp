//===- Generic.cpp - The generic target --------------------------------------------------===//
//
// The neutral decompositions, and vectors without schedules for machines behind them: right
// on every shape. Other targets are compared with it, and new ones may begin from it.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/Passes.h"
#include "lib/Host/Passes.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Target/Generic/RowTarget.h"
#include "lib/Target/Generic/Stages.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_REGISTRATION
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

class GenericTarget : public generic::RowTarget {
public:
  StringRef name() const override { return "generic"; }

  /// Vectors have the default width, which LLVM splits where registers are narrower: text of a stage is for every
  /// machine.
  TargetInfo capabilities(const host::Machine &, StringRef, StringRef) const override { return {}; }

  void addPasses(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut) {
      passes.addPass(createAttnGenericLayout());
      passes.addPass(createAttnGenericSchedule());
    } else if (stage == Stage::Tiled) {
      generic::addTiles(passes);
    } else if (stage == Stage::Backend) {
      generic::addBuffers(passes);
      passes.addPass(createAttnOutlineParallel());
      passes.addPass(createAttnPlanMemory());
      passes.addPass(createAttnGenericVectorize());
      generic::addLoops(passes);
    } else if (stage == Stage::LLVMDialect) {
      passes.addPass(createAttnExpandMath());
      passes.addPass(createAttnLowerVectors());
      passes.addPass(createSCFToControlFlowPass());
      passes.addPass(createLowerAffinePass());
      passes.addPass(createAttnToLLVM());
      passes.addPass(createReconcileUnrealizedCastsPass());
      passes.addPass(createCanonicalizerPass());
      passes.addPass(createCSEPass());
      passes.addPass(createAttnEmitEntries());
    }
  }

  void addContract(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut || stage == Stage::Tiled) {
      AttnVerifyGenericOptions contract;
      contract.tiled = stage == Stage::Tiled;
      passes.addPass(createAttnVerifyGeneric(contract));
    } else if (stage == Stage::Backend) {
      passes.addPass(createAttnVerifyBackend());
    } else {
      passes.addPass(createAttnVerifyLLVMDialect());
    }
  }

  void registerDialects(DialectRegistry &) const override {}
  void registerPasses() const override { registerGenericPasses(); }
};

} // namespace

void generic::addTiles(OpPassManager &passes) {
  passes.addPass(createAttnToLinalg(&generic::rowCache()));
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createAttnTileLinalg());
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  passes.addPass(createCanonicalizerPass());
}

void generic::addBuffers(OpPassManager &passes) {
  passes.addPass(createAttnLowerEntries());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(bufferization::createOneShotBufferizePass());
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass()); // buffers are as large as dims say
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createCanonicalizerPass());
}

void generic::addLoops(OpPassManager &passes) {
  passes.addPass(createAttnLinalgToLoops());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

namespace rapt::generic {
const Target &target() {
  static const GenericTarget target;
  return target;
}
} // namespace rapt::generic
