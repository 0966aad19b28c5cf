//===- Pooling.cpp - One vector for a row of tokens ---------------------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult PoolRowsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), offsets = cast<RankedTensorType>(getRowBegin().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getRank() != 2 || offsets.getRank() != 1)
    return emitOpError() << "needs an input of rank 2 and offsets of rank 1, found " << input << " and " << offsets;
  if (static_cast<int64_t>(getSkip()) < 0)
    return emitOpError() << "skips " << static_cast<int64_t>(getSkip()) << " tokens";
  bool fits = result.getRank() == 2 && result.getDimSize(1) == input.getDimSize(1) &&
              (offsets.isDynamicDim(0) ? result.isDynamicDim(0) : result.getDimSize(0) == offsets.getDimSize(0) - 1);
  if (!fits)
    return emitOpError() << "result " << result << " does not fit input " << input << " and offsets " << offsets;
  return success();
}

void PoolRowsOp::relateDims(DimRelations &dims) {
  dims.offsets(getRowBegin(), getResult());
  dims.equal(getResult(), 1, getInput(), 1);
}

std::optional<unsigned> PoolRowsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

bool PoolRowsOp::movesNumbers() { return getKind() != PoolingKind::mean; }
