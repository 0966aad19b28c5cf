//===- FuseEpilogues.cpp - The pass around the epilogue rules ---------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNFUSEEPILOGUES
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;

namespace {
struct FuseEpilogues : rapt::impl::AttnFuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    if (failed(rapt::checkStage(*this, getOperation(), rapt::Stage::Imported)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    rapt::populateEpilogueFusionPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    rapt::explainEpilogues(getOperation());
  }
};
} // namespace
