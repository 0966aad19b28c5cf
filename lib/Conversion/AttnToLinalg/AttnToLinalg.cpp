//===- AttnToLinalg.cpp - The pass around the decompositions ------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/Passes.h"
#include "lib/Conversion/Schedule.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTOLINALG
#include "lib/Conversion/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

void rapt::populateAttnToLinalgPatterns(RewritePatternSet &patterns, const CacheReader *cache) {
  neutral::populateAttention(patterns, cache);
  neutral::populateAttentionState(patterns);
  neutral::populateEmbedding(patterns);
  neutral::populateFeedForward(patterns);
  neutral::populateHeads(patterns);
  neutral::populateImage(patterns);
  neutral::populateNorm(patterns);
  neutral::populateExperts(patterns);
  neutral::populatePooling(patterns);
  neutral::populatePosition(patterns);
  neutral::populateLinearAttention(patterns);
  neutral::populateRecurrence(patterns);
  neutral::populateShortConv(patterns);
}

namespace {

/// Keeps why patterns refused an op, by its location, and hands an op's number to the ops that it becomes.
struct Listener : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (isa<linalg::LinalgOp, scf::ForallOp>(op))
      made.push_back(op);
  }
  void notifyOperationErased(Operation *op) override {
    llvm::erase(made, op);
    if (!attn::isAttnOp(op) || isa<attn::LookupOp, attn::YieldOp>(op))
      return;
    if (Attribute number = op->getAttr(attn::AttnDialect::opAttr))
      for (Operation *of : made)
        of->setAttr(attn::AttnDialect::opAttr, number);
    made.clear();
  }
  void notifyMatchFailure(Location loc, function_ref<void(Diagnostic &)> reasonCallback) override {
    Diagnostic diagnostic(loc, DiagnosticSeverity::Remark);
    reasonCallback(diagnostic);
    reasons[loc] = diagnostic.str();
  }
  llvm::DenseMap<Location, std::string> reasons;

private:
  SmallVector<Operation *> made; ///< of the op that is being rewritten
};

struct AttnToLinalg : rapt::impl::AttnToLinalgBase<AttnToLinalg> {
  AttnToLinalg() = default;
  explicit AttnToLinalg(const CacheAccess *cache) : cache(cache) {}

  void runOnOperation() override {
    // Another target's text of the stage laid-out has other layouts, but its ops are the same.
    if (failed(checkStage(*this, getOperation(), {Stage::Canonical, Stage::LaidOut})))
      return signalPassFailure();
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    const WalkResult schedules = getOperation()->walk([](Operation *op) {
      return failed(neutral::verifyTiles(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (schedules.wasInterrupted())
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateAttnToLinalgPatterns(patterns, cache);
    neutral::populateKVCache(patterns, cache);
    Listener listener;
    walkAndApplyPatterns(getOperation(), std::move(patterns), &listener);
    WalkResult rest = getOperation()->walk([&](Operation *op) {
      if (auto view = dyn_cast<attn::KVViewOp>(op); view && view->use_empty()) {
        view.erase();
        return WalkResult::skip();
      }
      if (!attn::isAttnOp(op) || isa<attn::KVViewOp>(op) || op->hasTrait<attn::StaysInTiles>())
        return WalkResult::advance();
      std::string reason = listener.reasons.lookup(op->getLoc());
      op->emitOpError("has no neutral decomposition: ") << (reason.empty() ? "none is known for it" : reason);
      return WalkResult::interrupt();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }

  const CacheAccess *cache = nullptr;
};

} // namespace

std::unique_ptr<Pass> rapt::createAttnToLinalg(const CacheAccess *cache) {
  return std::make_unique<AttnToLinalg>(cache);
}
