//===- PairAttention.cpp - Attention by bf16 dot-product matmuls -------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNPAIRATTENTION
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether every product of the program, of which there are some, reads a weight in pairs.
bool readsPairs(ModuleOp module) {
  bool some = false;
  WalkResult others = module.walk([&](attn::LinearOp product) {
    some = true;
    bool inPairs = attn_cpu::isInterleaved(product.getLayout());
    return inPairs ? WalkResult::advance() : WalkResult::interrupt();
  });
  return some && !others.wasInterrupted();
}

struct PairAttention : rapt::impl::AttnPairAttentionBase<PairAttention> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    if (!TargetInfo::of(getOperation()).hasBf16Matmul())
      return;
    const bool ofPairs = readsPairs(getOperation());
    getOperation().walk([&](attn::AttentionOp op) {
      bool cached = op.getKey().getDefiningOp<attn::KVViewOp>() != nullptr;
      bool isStored = getElementTypeOrSelf(op.getKey().getType()).isBF16() &&
                      getElementTypeOrSelf(op.getValue().getType()).isBF16();
      if (!op.getAdditive() && (isStored || (!cached && ofPairs)))
        op->setAttr(attn_cpu::AttnCPUDialect::bf16MatmulAttr, UnitAttr::get(&getContext()));
    });
  }
};

} // namespace
