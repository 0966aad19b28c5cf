//===- Norm.cpp - Normalization over the last dim ----------------------------===//
#include "dialect/Attn/AttnOps.h"
#include <cmath>

using namespace mlir;
using namespace rapt::attn;

namespace {
LogicalResult verifyNorm(Operation *op, RankedTensorType input, RankedTensorType weight, APFloat epsilon,
                         std::optional<uint64_t> columns) {
  if (input.getRank() < 2 || ShapedType::isDynamic(input.getShape().back()))
    return op->emitOpError() << "needs an input of at least two dims, the last one static, found " << input;
  const int64_t width = input.getShape().back();
  const int64_t dims = weight.getRank();
  if (dims < 1 || dims > 2 || dims >= input.getRank() || !weight.hasStaticShape() ||
      weight.getShape() != input.getShape().take_back(dims))
    return op->emitOpError() << "weight " << weight << " does not fit input " << input;
  double value = epsilon.convertToDouble();
  if (!(value > 0) || !std::isfinite(value))
    return op->emitOpError() << "needs a positive finite epsilon, found " << value;
  if (columns && (*columns < 1 || static_cast<int64_t>(*columns) > width))
    return op->emitOpError() << "columns must be within 1.." << width << ", found " << *columns;
  return success();
}
} // namespace

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, cast<RankedTensorType>(getInput().getType()), cast<RankedTensorType>(getWeight().getType()),
                    getEpsilon(), getColumns());
}

LogicalResult RMSNormOp::verify() {
  return verifyNorm(*this, cast<RankedTensorType>(getInput().getType()), cast<RankedTensorType>(getWeight().getType()),
                    getEpsilon(), getColumns());
}

/// The dims of a weight are the input's last ones.
static void relateWeight(DimRelations &dims, Value input, Value weight) {
  const int64_t rank = cast<RankedTensorType>(weight.getType()).getRank(), first = *lastDim(input) + 1 - rank;
  for (int64_t i = 0; i < rank; ++i)
    dims.equal(weight, i, input, first + i);
}

void LayerNormOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getInput());
  for (Value weight : {getWeight(), getBias()})
    relateWeight(dims, getInput(), weight);
}

void RMSNormOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getInput());
  relateWeight(dims, getInput(), getWeight());
}

/// The mean is over the channels that count.
template <typename Op> static LogicalResult keepColumns(Op op, int64_t columns) {
  if (columns == cast<RankedTensorType>(op.getInput().getType()).getShape().back())
    return success();
  if (!op.getColumns())
    op.setColumns(columns);
  return success();
}

std::optional<unsigned> LayerNormOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
std::optional<WeightUse> LayerNormOp::getWeightUse(OpOperand &) { return WeightUse(); }
RowAccess LayerNormOp::getRowAccess() { return RowAccess::same; }
LogicalResult LayerNormOp::keepChannels(ArrayRef<int64_t> channels, Padding) { return keepColumns(*this, channels[0]); }
bool LayerNormOp::takesLeadingChannels() { return true; }

std::optional<unsigned> RMSNormOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
std::optional<WeightUse> RMSNormOp::getWeightUse(OpOperand &) { return WeightUse(); }
RowAccess RMSNormOp::getRowAccess() { return RowAccess::same; }
LogicalResult RMSNormOp::keepChannels(ArrayRef<int64_t> channels, Padding) { return keepColumns(*this, channels[0]); }
bool RMSNormOp::takesLeadingChannels() { return true; }

ElementUse LayerNormOp::getElementUse(OpOperand &operand) {
  return &operand == &getInputMutable() ? ElementUse::computed : ElementUse::fixed;
}

ElementUse RMSNormOp::getElementUse(OpOperand &operand) {
  return &operand == &getInputMutable() ? ElementUse::computed : ElementUse::fixed;
}
