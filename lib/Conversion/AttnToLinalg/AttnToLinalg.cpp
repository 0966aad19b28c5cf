//===- AttnToLinalg.cpp - The pass around the tiling patterns ------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTOLINALG
#include "lib/Conversion/AttnToLinalg/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {
struct AttnToLinalg : rapt::impl::AttnToLinalgBase<AttnToLinalg> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateLinearTilingPatterns(patterns);
    populateRowWiseTilingPatterns(patterns);
    populatePositionTilingPatterns(patterns);
    populateKVCacheTilingPatterns(patterns);
    populateAttentionTilingPatterns(patterns);
    populateRecurrenceTilingPatterns(patterns);
    // Each op is rewritten once: a walk, not a fixpoint.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult rest = getOperation()->walk([](Operation *op) {
      if (auto view = dyn_cast<attn::KVViewOp>(op); view && view->use_empty()) {
        view.erase();
        return WalkResult::skip();
      }
      if (isa<attn::AttnDialect>(op->getDialect()) &&
          !isa<attn::ParameterOp, attn::ParameterSliceOp, attn::DimOp, attn::DimSizeOp, attn::AttentionStateOp,
               attn::AttentionMergeOp, attn::YieldOp>(op)) {
        op->emitOpError(
            "has no tiled form for these types; layouts must be materialised first (attn-materialize-layouts), "
            "with head dimensions and columns that are multiples of 32");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
