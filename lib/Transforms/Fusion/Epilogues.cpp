//===- Epilogues.cpp - Elementwise ops move into the matmul that feeds them ------===//
#include "dialect/Attn/Elementwise.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace rapt;

namespace {

constexpr llvm::StringLiteral kRule = "fuse-epilogue";

/// The operand that is a matmul which can take the op in; null where there is none.
OpOperand *findMatmul(attn::EpilogueOpInterface op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<attn::LinearOp>();
    // Heads have a matrix each, whose matmul takes no extra operands.
    const bool takes = producer && (!producer.isOfHeads() || op->getNumOperands() == 1);
    if (takes && producer->hasOneUse() && producer->getBlock() == op->getBlock())
      return &operand;
  }
  return nullptr;
}

/// `number`, of f32, rounded to `element`, as f32.
Value roundThrough(OpBuilder &b, Location loc, Value number, Type element) {
  if (element.isF32())
    return number;
  Value rounded = arith::TruncFOp::create(b, loc, element, number);
  return arith::ExtFOp::create(b, loc, number.getType(), rounded);
}

/// op(linear(x, w), others...) becomes linear(x, w, others...) with op at the end of its epilogue, so that the
/// matmul's result is touched once, in registers. The matmul moves down to the consumer, where the other operands
/// exist. The epilogue keeps the rounding of the matmul's result.
struct FuseIntoLinear : attn::ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult matchAndRewrite(attn::EpilogueOpInterface op, PatternRewriter &rewriter) const override {
    OpOperand *matmul = findMatmul(op);
    if (!matmul)
      return rewriter.notifyMatchFailure(op, "no operand is a matmul of the same block used only here");

    auto linear = matmul->get().getDefiningOp<attn::LinearOp>();
    const unsigned position = matmul->getOperandNumber();
    SmallVector<Value> extras(linear.getExtras());
    for (OpOperand &operand : op->getOpOperands())
      if (operand.getOperandNumber() != position)
        extras.push_back(operand.get());
    auto fused = attn::LinearOp::create(rewriter, rewriter.getFusedLoc({linear.getLoc(), op->getLoc()}),
                                        cast<RankedTensorType>(op->getResult(0).getType()), linear.getInput(),
                                        linear.getWeight(), extras, linear.getGroups(), linear.getTransposedAttr(),
                                        linear.getLayoutAttr());
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
    sum = roundThrough(rewriter, op->getLoc(), sum, linear.getResult().getType().getElementType());
    SmallVector<Value> scalars;
    unsigned next = 1 + linear.getExtras().size();
    for (OpOperand &operand : op->getOpOperands())
      scalars.push_back(operand.getOperandNumber() == position ? sum : epilogue->getArgument(next++));
    Value result = op.emitScalar(rewriter, op->getLoc(), scalars);
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, result); });
    remarkFused(fused.getLoc(), kRule, op->getName().getStringRef());
    rewriter.replaceOp(op, fused);
    rewriter.eraseOp(linear);
    return success();
  }
};

} // namespace

/// Why an op was left.
static StringRef reasonOf(attn::EpilogueOpInterface op) {
  StringRef reason = "no operand is a matmul";
  for (Value operand : op->getOperands())
    if (auto producer = operand.getDefiningOp<attn::LinearOp>())
      reason = !producer->hasOneUse() ? "its matmul has several users"
               : producer.isOfHeads() && producer->getBlock() == op->getBlock()
                   ? "its matmul is of heads, which takes no extra operands"
                   : "its matmul is in another block";
  return reason;
}

void rapt::explainEpilogues(Operation *root) {
  root->walk([](attn::EpilogueOpInterface op) {
    remarkNotFused(op->getLoc(), kRule, op->getName().getStringRef() + ": " + reasonOf(op));
  });
}

void rapt::populateEpilogueFusionPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseIntoLinear>(patterns.getContext());
}
