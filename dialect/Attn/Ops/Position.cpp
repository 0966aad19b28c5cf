//===- Position.cpp - Positions and rotary embedding ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include <cmath>

using namespace mlir;
using namespace rapt::attn;

LogicalResult PositionsOp::verify() {
  for (Value operand : getOperands())
    if (cast<RankedTensorType>(operand.getType()).getRank() != 1)
      return emitOpError() << "needs operands of rank 1, found " << operand.getType();
  return success();
}

LogicalResult RopeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto positions = cast<RankedTensorType>(getPositions().getType());
  if (input.getRank() != 3 || positions.getRank() != 1 || input.getDimSize(0) != positions.getDimSize(0) ||
      input.isDynamicDim(2))
    return emitOpError() << "needs an input [tokens, heads, static channels] and positions [tokens], found " << input
                         << " and " << positions;
  int64_t rotated = 2 * getFrequencies().size();
  if (rotated == 0 || rotated > input.getDimSize(2))
    return emitOpError() << "rotates " << rotated << " channels of " << input.getDimSize(2);
  for (float frequency : getFrequencies())
    if (!std::isfinite(frequency))
      return emitOpError() << "needs finite frequencies, found " << frequency;
  return success();
}
