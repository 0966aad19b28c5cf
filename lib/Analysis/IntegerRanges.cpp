//===- IntegerRanges.cpp - Integer ranges in score and mask regions -----------------===//
#include "lib/Analysis/IntegerRanges.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;

static bool isInteger(Value value) { return value.getType().isIntOrIndex(); }

IntegerRanges::IntegerRanges(Region &region, unsigned first, ArrayRef<Value> bounded, int64_t most) {
  auto between = [](int64_t least, int64_t most) {
    return ConstantIntRanges::fromSigned(APInt(64, least, /*isSigned=*/true), APInt(64, most, /*isSigned=*/true));
  };
  Block &block = region.front();
  // Numbers of sequences and heads fit 32 bits.
  for (unsigned i : {0, 1})
    ranges.try_emplace(block.getArgument(first + i), between(0, INT32_MAX));
  for (unsigned i : {2, 3})
    ranges.try_emplace(block.getArgument(first + i), between(0, kPositionEnd - 1));
  for (Value value : bounded)
    ranges.try_emplace(value, between(-most, most));
  for (Operation &op : block) {
    auto inferable = dyn_cast<InferIntRangeInterface>(op);
    if (!inferable || !llvm::all_of(op.getOperands(), isInteger) || !llvm::all_of(op.getResults(), isInteger))
      continue;
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op.getOperands())
      operands.push_back(of(operand));
    inferable.inferResultRanges(
        operands, [&](Value result, const ConstantIntRanges &range) { ranges.try_emplace(result, range); });
  }
}

ConstantIntRanges IntegerRanges::of(Value value) const {
  if (auto known = ranges.find(value); known != ranges.end())
    return known->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant);
  return ConstantIntRanges::maxRange(ConstantIntRanges::getStorageBitwidth(value.getType()));
}

bool IntegerRanges::fitsInt32(Value index) const {
  ConstantIntRanges range = of(index);
  return range.smin().sge(INT32_MIN) && range.smax().sle(INT32_MAX);
}
