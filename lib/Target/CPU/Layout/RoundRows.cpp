//===- RoundRows.cpp - Inputs of products by instructions on pairs -----------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Target/CPU/Layout/Rounding.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNROUNDROWS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether the op that makes the rows writes them rounded, which attn-cpu-tile decides by the same rule.
void explain(attn_cpu::CastRowsOp rounding) {
  constexpr llvm::StringLiteral rule = "fuse-rounding";
  StringRef why = obstacleOfRounding(rounding);
  if (why.empty())
    remarkFused(rounding.getLoc(), rule, rounding.getInput().getDefiningOp()->getName().getStringRef());
  else
    remarkNotFused(rounding.getLoc(), rule, why);
}

struct RoundRows : rapt::impl::AttnRoundRowsBase<RoundRows> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    if (!TargetInfo::of(getOperation()).hasBf16Matmul())
      return;
    llvm::DenseMap<Value, Value> rounded;
    getOperation().walk([&](attn::LinearOp product) {
      RankedTensorType input = product.getInput().getType();
      if (!attn_cpu::isInterleaved(product.getLayout()) || !input.getElementType().isF32() || input.isDynamicDim(1))
        return;
      Value &rows = rounded[product.getInput()];
      if (!rows) {
        OpBuilder b(&getContext());
        b.setInsertionPointAfterValue(product.getInput());
        auto type =
            RankedTensorType::get({input.getDimSize(0), attn_cpu::padToPanel(input.getDimSize(1))}, b.getBF16Type());
        rows = attn_cpu::CastRowsOp::create(b, product.getInput().getLoc(), type, product.getInput());
      }
      product.getInputMutable().assign(rows);
    });
    getOperation().walk([](attn_cpu::CastRowsOp rounding) { explain(rounding); });
  }
};

} // namespace
