//===- Companion.cpp - Products that one op's tasks make together ---------------------------===//
#include "lib/Analysis/Companion.h"

using namespace mlir;
using namespace rapt;

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

StringRef rapt::obstacleOfCompanion(attn::LinearOp op, Value extra) {
  auto product = extra.getDefiningOp<attn::LinearOp>();
  if (!product || product->getBlock() != op->getBlock())
    return "it is made by no product of the same block";
  if (!extra.hasOneUse())
    return "it is read otherwise, too";
  if (product.getInput() != op.getInput())
    return "it is a product of other rows";
  if (product.getWeight().getType() != op.getWeight().getType() || product.getTransposed() != op.getTransposed() ||
      product.getResult().getType() != op.getResult().getType())
    return "its weight is of another type";
  if (op.getResult().getType().isDynamicDim(1))
    return "its columns are not known";
  if (!llvm::all_of(product.getExtras(), [](Value other) { return rankOf(other) == 1; }))
    return "its epilogue reads more than vectors";
  return "";
}

attn::LinearOp rapt::companionOf(attn::LinearOp op) {
  for (Value extra : op.getExtras())
    if (rankOf(extra) == 2 && obstacleOfCompanion(op, extra).empty())
      return extra.getDefiningOp<attn::LinearOp>();
  return nullptr;
}

attn::LinearOp rapt::ownerOf(attn::LinearOp op) {
  auto owner = op.getResult().hasOneUse() ? dyn_cast<attn::LinearOp>(*op->user_begin()) : nullptr;
  return owner && companionOf(owner) == op ? owner : nullptr;
}
