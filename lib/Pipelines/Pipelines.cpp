//===- Pipelines.cpp - The order of passes -------------------------------------------===//
#include "lib/Pipelines/Pipelines.h"
#include "lib/Conversion/Passes.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace rapt;

static void addCanonical(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createAttnDeclareKernels());
  passes.addPass(createAttnVerifyImported());
  passes.addPass(createAttnTensorsToLinalg());
  passes.addPass(createAttnDefineArithmetic());
  if (options.dtype != "auto") {
    AttnSelectStorageOptions storage;
    storage.dtype = options.dtype;
    passes.addPass(createAttnSelectStorage(storage));
  }
  passes.addPass(createAttnFuseEpilogues());
  passes.addPass(createAttnInlineCalls());
  passes.addPass(createSymbolDCEPass());
  passes.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  passes.addPass(createAttnMergeMatmuls());
  // A type that is asked for is that of the numbers of blocks, too.
  if (options.quantize == "none" && options.dtype != "auto")
    return;
  AttnQuantizeWeightsOptions quantization;
  quantization.mode = options.quantize == "none" ? "stored" : options.quantize;
  quantization.group = options.quantizeGroup;
  quantization.zeroPoints = options.quantizeZeroPoint;
  passes.addPass(createAttnQuantizeWeights(quantization));
}

/// The target becomes part of the IR, and costs and tables, while shapes are logical. A device chooses tokens where
/// logits are.
static void addTarget(OpPassManager &passes, const PipelineOptions &options) {
  if (!options.target->device().empty())
    passes.addPass(createAttnAddTokenEntries());
  AttnSetTargetOptions target;
  target.target = options.target->name().str();
  for (const std::string &capability : options.capabilities.list())
    target.capabilities.push_back(capability);
  passes.addPass(createAttnSetTarget(target));
  passes.addPass(createAttnAnnotateCosts());
  passes.addPass(createAttnMarkTables());
}

void rapt::addContract(OpPassManager &passes, Stage stage, const Target &target) {
  if (stage == Stage::Imported)
    passes.addPass(createAttnVerifyImported());
  else if (stage == Stage::Canonical)
    passes.addPass(createAttnVerifyCanonical());
  else
    target.addContract(passes, stage);
}

void rapt::buildPipeline(OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options) {
  for (int i = static_cast<int>(from) + 1; i <= static_cast<int>(to); ++i) {
    const Stage stage = static_cast<Stage>(i);
    if (stage == Stage::Canonical) {
      addCanonical(passes, options);
    } else {
      if (stage == Stage::LaidOut)
        addTarget(passes, options);
      options.target->addPasses(passes, stage);
    }
    addContract(passes, stage, *options.target);
    AttnSetStageOptions reached;
    reached.stage = nameOf(stage).str();
    passes.addPass(createAttnSetStage(reached));
  }
}
