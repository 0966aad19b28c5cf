//===- Pipelines.cpp - The order of passes -----------------------------------------===//
#include "lib/Pipelines/Pipelines.h"
#include "dialect/Attn/AttnDialect.h"
#include "lib/Host/Passes.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Target/CPU/Tail.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace rapt;

namespace {
constexpr StringLiteral names[] = {"imported", "canonical", "tiled", "backend", "llvm-dialect"};

void addCanonical(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createAttnDeclareKernels());
  passes.addPass(createAttnVerifyImported());
  passes.addPass(createAttnDefineArithmetic());
  AttnSetTargetOptions target;
  target.vectorBytes = options.target.vectorBytes;
  target.vectorRegisters = options.target.vectorRegisters;
  target.byteDot = options.target.byteDot;
  target.bf16Dot = options.target.bf16Dot;
  target.bf16Round = options.target.bf16Round;
  target.powerScale = options.target.powerScale;
  target.amxBf16 = options.target.amxBf16;
  target.amxInt8 = options.target.amxInt8;
  target.emulated = options.target.emulated;
  passes.addPass(createAttnSetTarget(target));
  if (options.dtype != "auto") {
    AttnSelectStorageOptions storage;
    storage.dtype = options.dtype;
    passes.addPass(createAttnSelectStorage(storage));
  }
  passes.addPass(createAttnFuseEpilogues());
  passes.addPass(createAttnInlineCalls());
  passes.addPass(createSymbolDCEPass());
  passes.addPass(createAttnMergeProducts());
  if (options.quantize != "none") {
    AttnQuantizeWeightsOptions quantization;
    quantization.mode = options.quantize;
    quantization.group = options.quantizeGroup;
    quantization.zeroPoints = options.quantizeZeroPoint;
    passes.addPass(createAttnQuantizeWeights(quantization));
  }
  passes.addPass(createAttnPadKernels());
  passes.addPass(createAttnMaterializeLayouts());
  passes.addPass(createAttnRoundRows());
  passes.addPass(createAttnPairAttention());
  passes.addPass(createAttnVerifyCanonical());
}

void addTiled(OpPassManager &passes) {
  passes.addPass(createAttnAnnotateCosts());
  passes.addPass(createAttnCPUTile());
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createAttnVerifyTiled());
}
} // namespace

StringRef rapt::nameOf(Stage stage) { return names[static_cast<int>(stage)]; }

std::optional<Stage> rapt::stageNamed(StringRef name) {
  const auto *it = llvm::find(names, name);
  if (it == std::end(names))
    return std::nullopt;
  return static_cast<Stage>(it - names);
}

Stage rapt::stageOf(ModuleOp module) {
  auto attr = module->getAttrOfType<StringAttr>(attn::AttnDialect::stageAttr);
  return attr ? stageNamed(attr.getValue()).value_or(Stage::Imported) : Stage::Imported;
}

void rapt::addContract(OpPassManager &passes, Stage stage) {
  switch (stage) {
  case Stage::Imported:
    return passes.addPass(createAttnVerifyImported());
  case Stage::Canonical:
    return passes.addPass(createAttnVerifyCanonical());
  case Stage::Tiled:
    return passes.addPass(createAttnVerifyTiled());
  case Stage::Backend:
    return passes.addPass(createAttnVerifyBackend());
  case Stage::LLVMDialect:
    return;
  }
}

void rapt::buildPipeline(OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options) {
  for (int stage = static_cast<int>(from) + 1; stage <= static_cast<int>(to); ++stage) {
    switch (static_cast<Stage>(stage)) {
    case Stage::Imported:
      break;
    case Stage::Canonical:
      addCanonical(passes, options);
      break;
    case Stage::Tiled:
      addTiled(passes);
      break;
    case Stage::Backend:
      cpu::addBackendPasses(passes);
      break;
    case Stage::LLVMDialect:
      cpu::addLLVMPasses(passes);
      break;
    }
    AttnSetStageOptions reached;
    reached.stage = nameOf(static_cast<Stage>(stage)).str();
    passes.addPass(createAttnSetStage(reached));
  }
}
