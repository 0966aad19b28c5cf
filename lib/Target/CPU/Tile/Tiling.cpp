//===- Tiling.cpp - The pass around the tiling patterns ------------------------------===//
#include "lib/Target/CPU/Tile/Tiling.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/PanelCache.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCPUTILE
#include "lib/Target/CPU/Tile/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {
/// Keeps why patterns refused an op, by its location, and hands an op's number to the loops that it becomes.
struct Progress : RewriterBase::Listener {
  /// `isNeutral`: the patterns are those of any target, whose linalg ops become loops.
  explicit Progress(bool isNeutral = false) : isNeutral(isNeutral) {}

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    const bool isOfLoops = isNeutral && isa<linalg::LinalgOp>(op);
    if (isOfLoops)
      op->setAttr(tile::kLoopsAttr, UnitAttr::get(op->getContext()));
    if (isOfLoops || isa<scf::ForallOp>(op))
      loops.push_back(op);
  }
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    // Only some targets round rows, and all number the same: the loop belongs to a product that reads the rows.
    if (isa<attn_cpu::CastRowsOp>(op))
      for (Operation *product : op->getUsers())
        number(product);
  }
  void notifyOperationErased(Operation *op) override {
    llvm::erase(loops, op);
    if (isa<attn::AttnDialect, attn_cpu::AttnCPUDialect>(op->getDialect())) // an op's own regions go before it
      number(op);
  }
  void notifyMatchFailure(Location loc, function_ref<void(Diagnostic &)> reasonCallback) override {
    Diagnostic diagnostic(loc, DiagnosticSeverity::Remark);
    reasonCallback(diagnostic);
    reasons[loc] = diagnostic.str();
  }
  llvm::DenseMap<Location, std::string> reasons;

private:
  /// Gives the loops the number of `op`, if it has one.
  void number(Operation *op) {
    Attribute number = op->getAttr(attn::AttnDialect::opAttr);
    if (!number)
      return;
    for (Operation *loop : loops)
      loop->setAttr(attn::AttnDialect::opAttr, number);
    loops.clear();
  }

  const bool isNeutral;
  SmallVector<Operation *> loops; ///< of the op that is being rewritten
};

/// Whether no result has elements, whatever the operands are.
bool isEmpty(Operation *op) {
  return isa<attn::AttnDialect, attn_cpu::AttnCPUDialect>(op->getDialect()) && op->getNumResults() > 0 &&
         isMemoryEffectFree(op) && llvm::all_of(op->getResultTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
         });
}

/// Makes the results of an op that has no work.
void replaceEmpty(Operation *op) {
  OpBuilder b(op);
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(tensor::EmptyOp::create(b, op->getLoc(), type.getShape(), type.getElementType()));
  }
  op->erase();
}

/// Quantized elements have no type of their own from here on: the patterns read their bytes, which weights have in
/// panels and activations where their rows are quantized.
LogicalResult verifyQuantized(Operation *op) {
  if (!isa<attn::AttnDialect>(op->getDialect()))
    return success();
  for (Value value : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto quantized = type ? dyn_cast<attn::QuantizedType>(type.getElementType()) : attn::QuantizedType();
    if (!quantized)
      continue;
    const bool isActivation = quantized.getCode() == attn::QuantizedCode::s8;
    if (isActivation ? !value.getDefiningOp<attn::QuantizeRowsOp>()
                     : !value.getDefiningOp<attn::ParameterSliceOp>() || type.getRank() != 3 || !type.hasStaticShape())
      return op->emitOpError("has no tiled form: it reads ")
             << type << ", which is no " << (isActivation ? "result of attn.quantize_rows" : "parameter in panels");
  }
  return success();
}

/// Ops of linalg that the imported text has become loops, as those of a neutral decomposition: a named op would be
/// taken for a tile of this target.
void markForLoops(Operation *root) {
  IRRewriter rewriter(root->getContext());
  SmallVector<linalg::LinalgOp> ops;
  root->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    if (!isa<linalg::GenericOp>(op)) {
      rewriter.setInsertionPoint(op);
      op = cast<linalg::LinalgOp>(linalg::generalizeNamedOp(rewriter, op)->getOperation());
    }
    op->setAttr(tile::kLoopsAttr, UnitAttr::get(op.getContext()));
  }
}

/// Whether an op is whole, though others than the CPU's patterns may still take it.
bool isRefused(Operation *op) {
  return isa<attn::AttnDialect>(op->getDialect()) && !(isa<attn::LinearOp>(op) && op->use_empty()) &&
         !op->hasTrait<attn::StaysInTiles>() && !isa<attn::KVViewOp>(op);
}

struct Tiling : rapt::impl::AttnCPUTileBase<Tiling> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::LaidOut)))
      return signalPassFailure();
    if (getOperation()
            ->walk([](Operation *op) {
              return failed(verifyQuantized(op)) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted())
      return signalPassFailure();
    if (failed(cpu::verifySchedules(getOperation())))
      return signalPassFailure();
    markForLoops(getOperation());
    // Dead ops go first: the patterns must not count their operands as used.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
      else if (isEmpty(op))
        replaceEmpty(op);
    });
    RewritePatternSet patterns(&getContext());
    populateQuantizationTilingPatterns(patterns);
    populateLinearTilingPatterns(patterns);
    populateRowWiseTilingPatterns(patterns);
    populateNormTilingPatterns(patterns);
    populateImageTilingPatterns(patterns);
    populatePoolingTilingPatterns(patterns);
    populatePositionTilingPatterns(patterns);
    populateKVCacheTilingPatterns(patterns);
    populateAttentionTilingPatterns(patterns);
    populateRecurrenceTilingPatterns(patterns);
    populatePaddingTilingPatterns(patterns);
    // Each op is rewritten once: a walk, not a fixpoint.
    Progress progress;
    walkAndApplyPatterns(getOperation(), std::move(patterns), &progress);
    decomposeRest(progress);
    WalkResult rest = getOperation()->walk([&](Operation *op) {
      // A user that is left tells the reason.
      if (auto view = dyn_cast<attn::KVViewOp>(op)) {
        if (view->use_empty())
          view.erase();
        return WalkResult::skip();
      }
      // A product may have been made with the one that reads it.
      if (isa<attn::ParameterSliceOp, attn::LinearOp>(op) && op->use_empty()) {
        op->erase();
        return WalkResult::skip();
      }
      if (isa<attn_cpu::CastRowsOp>(op) || isRefused(op)) {
        std::string reason = progress.reasons.lookup(op->getLoc());
        op->emitOpError("has no tiled form: ") << (reason.empty() ? "no CPU code is known for it" : reason);
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }

  /// Ops that no schedule takes are decomposed as for any target.
  void decomposeRest(Progress &progress) {
    SmallVector<std::pair<Location, std::string>> refused;
    getOperation()->walk([&](Operation *op) {
      if (isRefused(op))
        refused.emplace_back(op->getLoc(), progress.reasons.lookup(op->getLoc()));
    });
    if (refused.empty())
      return;
    RewritePatternSet neutral(&getContext());
    populateAttnToLinalgPatterns(neutral, &tile::panelCache());
    Progress decomposing(/*isNeutral=*/true);
    walkAndApplyPatterns(getOperation(), std::move(neutral), &decomposing);
    for (auto &[location, reason] : refused)
      remarkNeutral(location, reason.empty() ? "no schedule of the CPU takes it" : reason);
  }
};
} // namespace
