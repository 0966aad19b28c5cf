//===- Fuse.cpp - The pass that decides which ops one dispatch computes --------------------===//
#include "lib/Analysis/Cost.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Schedule/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCPUFUSE
#include "lib/Target/CPU/Schedule/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn_cpu::AttnCPUDialect;

namespace {

/// A fusion that may be: where its root is, and what remarks call it.
struct Candidate {
  attn_cpu::Root root;
  llvm::StringLiteral rule;
};

/// The fusion that an op is tried for; none where nothing about it suggests one.
std::optional<Candidate> candidateOf(Operation *op) {
  if (auto matmul = dyn_cast<attn::LinearOp>(op)) {
    auto root = dyn_cast_or_null<attn::LinearOp>(cpu::rootOf(op));
    if (!root || !llvm::is_contained(root.getExtras(), matmul.getResult()))
      return std::nullopt;
    return Candidate{attn_cpu::Root::consumer, "fuse-dual-matmul"};
  }
  if (isa<attn::RopeOp>(op))
    return Candidate{attn_cpu::Root::producer, "fuse-rotation"};
  if (isa<attn_cpu::CastRowsOp>(op))
    return Candidate{attn_cpu::Root::producer, "fuse-cast"};
  return std::nullopt;
}

/// Decides for one op, and tells.
bool fuse(Operation *op) {
  const std::optional<Candidate> candidate = candidateOf(op);
  if (!candidate)
    return false;
  if (StringRef why = cpu::notLegalBecause(op); !why.empty()) {
    remarkNotFused(op->getLoc(), candidate->rule, why);
    return false;
  }
  op->setAttr(AttnCPUDialect::fusedIntoAttr, attn_cpu::RootAttr::get(op->getContext(), candidate->root));
  const bool isConsumer = candidate->root == attn_cpu::Root::consumer;
  remarkFused(op->getLoc(), candidate->rule,
              "into " + cpu::rootOf(op)->getName().getStringRef() + ", which " +
                  (isConsumer ? "reads its result" : "makes its input"));
  return true;
}

struct Fuse : rapt::impl::AttnCPUFuseBase<Fuse> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<FusedOp> fused;
      function.walk([&](Operation *op) {
        if (fuse(op))
          fused.push_back({op, cpu::rootOf(op)});
        if (isa<attn::KVAppendOp>(op))
          remarkNotFused(op->getLoc(), "fuse-append", "a block of the cache has rows of several tasks of a matmul");
      });
      mergeCosts(function, fused);
    }
  }
};

} // namespace
