//===- Tiling.cpp - attn-cpu-tile: tiles attn ops -------------------------------------===//
#include "lib/Target/CPU/Tile/Tiling.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
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
bool isOwn(Operation *op) { return attn::isAttnOp(op) || isa<attn_cpu::AttnCPUDialect>(op->getDialect()); }

/// Records why patterns refused an op, by its location, and gives an op's number to the grids that it becomes.
struct Progress : RewriterBase::Listener {
  /// With `isNeutral` the patterns are the neutral decomposition, whose linalg ops become loops.
  explicit Progress(bool isNeutral = false) : isNeutral(isNeutral) {}

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    const bool isOfLoops = isNeutral && isa<linalg::LinalgOp>(op);
    if (isOfLoops)
      op->setAttr(tile::kLoopsAttr, UnitAttr::get(op->getContext()));
    if (isOfLoops || isa<scf::ForallOp>(op))
      loops.push_back(op);
  }
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    // A cast has no number, as only some targets have casts: its grid has the number of a matmul that reads the rows.
    if (isa<attn_cpu::CastRowsOp>(op))
      for (Operation *matmul : op->getUsers())
        number(matmul);
  }
  void notifyOperationErased(Operation *op) override {
    llvm::erase(loops, op);
    if (isOwn(op)) // not the ops of an op's own regions
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

/// Whether all results are static and have no elements.
bool isEmpty(Operation *op) {
  return isOwn(op) && op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
         });
}

/// Replaces an op whose results have no elements.
void replaceEmpty(Operation *op) {
  OpBuilder b(op);
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(tensor::EmptyOp::create(b, op->getLoc(), type.getShape(), type.getElementType()));
  }
  op->erase();
}

/// Verifies that quantized operands are weights in panels or results of attn.quantize_rows: the patterns read their
/// bytes, as later stages have no quantized types.
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
                     : !value.getDefiningOp<attn::ParameterSliceOp>() ||
                           !op->getInherentAttr("layout").value_or(Attribute()) || !type.hasStaticShape())
      return op->emitOpError("has no tiled form: it reads ")
             << type << ", which is no " << (isActivation ? "result of attn.quantize_rows" : "parameter in panels");
  }
  return success();
}

/// Marks linalg ops of the imported text to become loops, as those of a neutral decomposition do. They are generalized,
/// as a linalg.matmul would look like a tile of this target.
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

/// Whether the CPU's patterns have left an op that must be decomposed.
bool isRefused(Operation *op) {
  return attn::isAttnOp(op) && !(isa<attn::LinearOp>(op) && op->use_empty()) && !op->hasTrait<attn::StaysInTiles>() &&
         !isa<attn::KVViewOp>(op);
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
    if (failed(cpu::verifySchedules(getOperation())) || failed(cpu::verifyFusions(getOperation())))
      return signalPassFailure();
    cpu::setRowsOfSteps(getOperation());
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
    populateExpertsTilingPatterns(patterns);
    populatePositionTilingPatterns(patterns);
    populateKVCacheTilingPatterns(patterns);
    populateAttentionTilingPatterns(patterns);
    populateLinearAttentionTilingPatterns(patterns);
    populateRecurrenceTilingPatterns(patterns);
    populateShortConvTilingPatterns(patterns);
    populatePaddingTilingPatterns(patterns);
    // Each op is rewritten once: a walk, not a fixpoint.
    Progress progress;
    walkAndApplyPatterns(getOperation(), std::move(patterns), &progress);
    decomposeRefused(progress);
    WalkResult rest = getOperation()->walk([&](Operation *op) {
      // Remaining users report the reason.
      if (auto view = dyn_cast<attn::KVViewOp>(op)) {
        if (view->use_empty())
          view.erase();
        return WalkResult::skip();
      }
      // A matmul that was fused into its user's tiles has no users left.
      if (isa<attn::ParameterSliceOp, attn::LinearOp>(op) && op->use_empty()) {
        op->erase();
        return WalkResult::skip();
      }
      if (isa<attn_cpu::CastRowsOp>(op) || isRefused(op)) {
        std::string reason = progress.reasons.lookup(op->getLoc());
        op->emitOpError("has no tiled form: ")
            << (reason.empty() ? "no schedule and no decomposition takes it" : reason);
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }

  /// Decomposes the ops that no pattern has tiled, as for any target.
  void decomposeRefused(Progress &progress) {
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
