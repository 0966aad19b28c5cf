//===- Bf16Attention.cpp - Attention by bf16 dot-product matmuls -------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNBF16ATTENTION
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether the program has matmuls, and all of them read a VNNI-packed weight.
bool hasVnniWeights(ModuleOp module) {
  bool some = false;
  WalkResult others = module.walk([&](attn::LinearOp matmul) {
    some = true;
    return attn_cpu::isInterleaved(matmul.getLayout()) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return some && !others.wasInterrupted();
}

struct Bf16Attention : rapt::impl::AttnBf16AttentionBase<Bf16Attention> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    if (!TargetInfo::of(getOperation()).hasBf16Matmul())
      return;
    const bool isVnniProgram = hasVnniWeights(getOperation());
    getOperation().walk([&](attn::AttentionOp op) {
      bool cached = op.getKey().getDefiningOp<attn::KVViewOp>() != nullptr;
      bool isStored = getElementTypeOrSelf(op.getKey().getType()).isBF16() &&
                      getElementTypeOrSelf(op.getValue().getType()).isBF16();
      if (Value second = op.getSecondKey()) // latents in a cache are transposed as f32
        isStored &= !cached && getElementTypeOrSelf(second.getType()).isBF16();
      if (!op.getAdditive() && (isStored || (!cached && isVnniProgram)))
        op->setAttr(attn_cpu::AttnCPUDialect::bf16MatmulAttr, UnitAttr::get(&getContext()));
    });
  }
};

} // namespace
