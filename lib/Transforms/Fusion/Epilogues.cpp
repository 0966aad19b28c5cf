//===- Epilogues.cpp - Elementwise ops move into the product that feeds them ------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace rapt;

namespace {

/// op(linear(x, w), others...) becomes linear(x, w, others...) with op at the end of its epilogue, so that the
/// product's result is touched once, in registers. The product moves down to the consumer, where the other operands
/// exist.
struct FuseIntoLinear : OpInterfaceRewritePattern<attn::EpilogueOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(attn::EpilogueOpInterface op, PatternRewriter &rewriter) const override {
    attn::LinearOp linear;
    unsigned position = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      auto producer = operand.get().getDefiningOp<attn::LinearOp>();
      if (producer && producer->hasOneUse() && producer->getBlock() == op->getBlock()) {
        linear = producer;
        position = operand.getOperandNumber();
        break;
      }
    }
    if (!linear)
      return rewriter.notifyMatchFailure(op, "no operand is a product of the same block used only here");

    SmallVector<Value> extras(linear.getExtras());
    for (OpOperand &operand : op->getOpOperands())
      if (operand.getOperandNumber() != position)
        extras.push_back(operand.get());
    auto fused = attn::LinearOp::create(rewriter, rewriter.getFusedLoc({linear.getLoc(), op->getLoc()}),
                                        linear.getResult().getType(), linear.getInput(), linear.getWeight(), extras,
                                        linear.getTransposedAttr());
    Block *epilogue = fused.ensureEpilogue(rewriter);
    Operation *yield = &epilogue->back();
    rewriter.setInsertionPoint(yield);
    Value sum = epilogue->getArgument(0);
    if (!linear.getEpilogue().empty()) {
      Block &old = linear.getEpilogue().front();
      IRMapping mapping;
      for (BlockArgument argument : old.getArguments())
        mapping.map(argument, epilogue->getArgument(argument.getArgNumber()));
      for (Operation &inner : old.without_terminator())
        rewriter.clone(inner, mapping);
      sum = mapping.lookupOrDefault(cast<attn::YieldOp>(old.back()).getValue());
    }
    SmallVector<Value> scalars;
    unsigned next = 1 + linear.getExtras().size();
    for (OpOperand &operand : op->getOpOperands())
      scalars.push_back(operand.getOperandNumber() == position ? sum : epilogue->getArgument(next++));
    Value result = op.emitScalar(rewriter, op->getLoc(), scalars);
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, result); });
    rewriter.replaceOp(op, fused);
    rewriter.eraseOp(linear);
    return success();
  }
};

} // namespace

void rapt::populateEpilogueFusionPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseIntoLinear>(patterns.getContext());
}
