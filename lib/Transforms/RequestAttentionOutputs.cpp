//===- RequestAttentionOutputs.cpp - Results of attention as outputs of the entries -------===//
//
// Attention never holds its weights: memory is linear in the length. A user who wants them, or
// log-sum-exp, asks for layers and heads, and the entries of an imported module get one more output. Layers
// are numbered in the order in which the entry computes them, whatever loops they are in.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/Facts.h"
#include "lib/Transforms/AttentionOutputs.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNREQUESTATTENTIONOUTPUTS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn::AttnDialect;

namespace {

/// The output's name. An encoder-decoder's has the part of the model in it.
std::string nameOf(func::FuncOp entry, AttentionKind kind, AttentionResult what, bool hasEncoder) {
  using enum EntryRole;
  auto choose = [&](EntryRole weights, EntryRole logSumExp) {
    return rapt::nameOf(what == AttentionResult::Weights ? weights : logSumExp);
  };
  return kind == AttentionKind::Cross        ? choose(CrossAttentions, CrossLogSumExp)
         : !hasEncoder                       ? choose(Attentions, LogSumExp)
         : entry.getSymName() == encodeEntry ? choose(EncoderAttentions, EncoderLogSumExp)
                                             : choose(DecoderAttentions, DecoderLogSumExp);
}

struct RequestAttentionOutputs : rapt::impl::AttnRequestAttentionOutputsBase<RequestAttentionOutputs> {
  using AttnRequestAttentionOutputsBase::AttnRequestAttentionOutputsBase;

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    // Blocks of layers are functions: in the entry itself each call is a layer of its own.
    OpPassManager inlining(ModuleOp::getOperationName());
    inlining.addPass(createAttnInlineCalls());
    if (failed(runPipeline(inlining, module)) || failed(addOutputs(module)))
      return signalPassFailure();
    if (attn::isKernelModule(module))
      return;
    auto set = [&](fact::Numbers ModelFacts::*fact, ArrayRef<int64_t> chosen) {
      if (!chosen.empty())
        attn::setFact(module, fact, chosen.vec());
    };
    if (weights)
      set(&ModelFacts::attentionLayers, layers), set(&ModelFacts::attentionHeads, heads);
    if (logSumExp)
      set(&ModelFacts::logSumExpLayers, layers), set(&ModelFacts::logSumExpHeads, heads);
  }

  LogicalResult addOutputs(ModuleOp module) {
    const ModelFacts facts = attn::factsOf(module);
    const int64_t ofModel = facts.positions ? facts.positions : facts.keys, ofSource = facts.longestSource(0);
    const bool hasEncoder = module.lookupSymbol<func::FuncOp>(encodeEntry) != nullptr;
    bool found = false;
    for (FunctionOpInterface function : attn::entriesOf(module)) {
      const auto entry = dyn_cast<func::FuncOp>(*function);
      if (!entry)
        continue; // code of a later stage
      for (AttentionKind kind : {AttentionKind::Self, AttentionKind::Cross})
        for (AttentionResult what : {AttentionResult::Weights, AttentionResult::LogSumExp}) {
          const bool readsSource = kind == AttentionKind::Cross && ofSource;
          const AttentionRequest request{layers, heads, positions ? positions : readsSource ? ofSource : ofModel};
          AttentionOutput output(entry, kind, what, nameOf(entry, kind, what, hasEncoder), request);
          if (!output.isNeeded())
            continue;
          found = true;
          const bool isWanted = what == AttentionResult::Weights ? weights : logSumExp;
          if (isWanted && failed(output.run()))
            return failure();
        }
    }
    return found ? success() : emitError(module.getLoc()) << "the model has no attention";
  }
};

} // namespace
