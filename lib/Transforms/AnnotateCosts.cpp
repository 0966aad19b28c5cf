//===- AnnotateCosts.cpp - Numbers for ops, and what each of them costs ---------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/Cost.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNANNOTATECOSTS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {
struct AnnotateCosts : rapt::impl::AttnAnnotateCostsBase<AnnotateCosts> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    Builder b(&getContext());
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      if (!entry->hasAttr(attn::AttnDialect::entryAttr))
        continue;
      EntryCosts costs = costsOf(entry);
      for (auto [i, op, moves] : llvm::enumerate(costs.operations, costs.moves)) {
        op->setAttr(attn::AttnDialect::opAttr, b.getI64IntegerAttr(i));
        op->setAttr(attn::AttnDialect::movesAttr, moves);
      }
      entry->setAttr(attn::AttnDialect::costsAttr, costs.facts);
    }
  }
};
} // namespace
