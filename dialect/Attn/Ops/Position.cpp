//===- Position.cpp - Positions and rotary embedding ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include <cmath>

using namespace mlir;
using namespace rapt::attn;

LogicalResult PositionsOp::verify() {
  for (Value operand : getOperands())
    if (cast<RankedTensorType>(operand.getType()).getRank() != 1)
      return emitOpError() << "needs operands of rank 1, found " << operand.getType();
  if (getPadding() && getPast())
    return emitOpError() << "leaves padding out, which needs rows without a past";
  return success();
}

/// Frequencies are some finite numbers.
static LogicalResult verifyFrequencies(Operation *op, ArrayRef<float> frequencies) {
  if (frequencies.empty())
    return op->emitOpError("needs at least one frequency");
  for (float frequency : frequencies)
    if (!std::isfinite(frequency))
      return op->emitOpError() << "needs finite frequencies, found " << frequency;
  return success();
}

LogicalResult SinusoidsOp::verify() {
  auto positions = cast<RankedTensorType>(getPositions().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t count = getFrequencies().size();
  if (failed(verifyFrequencies(*this, getFrequencies())))
    return failure();
  if (positions.getRank() != 1 || result.getRank() != 2 || result.getDimSize(0) != positions.getDimSize(0) ||
      result.getDimSize(1) < count) // a target's layout may pad the columns
    return emitOpError() << "needs positions [tokens] and gives [tokens, " << count << "], found " << positions
                         << " and " << result;
  if (getHalves() && count % 2 != 0)
    return emitOpError() << "has " << count << " frequencies, whose halves are not equal";
  if (IntegerAttr first = getFirstAttr(); first && (first.getInt() < 0 || first.getInt() > INT32_MAX))
    return emitOpError() << "has first " << first.getInt() << ", must be from 0 to 2147483647";
  return success();
}

LogicalResult RotaryTableOp::verify() {
  auto positions = cast<RankedTensorType>(getPositions().getType());
  auto table = cast<RankedTensorType>(getCosines().getType());
  int64_t count = getFrequencies().size();
  if (failed(verifyFrequencies(*this, getFrequencies())))
    return failure();
  if (positions.getRank() != 1 || table.getRank() != 2 || table.getDimSize(0) != positions.getDimSize(0) ||
      table.getDimSize(1) != count)
    return emitOpError() << "needs positions [tokens] and gives [tokens, " << count << "], found " << positions
                         << " and " << table;
  const bool isChosen = getLengths() != nullptr;
  if (isChosen != bool(getLongFrequencies()) || isChosen != bool(getBound()))
    return emitOpError() << "needs a bound, lengths and frequencies of longer texts, or none of them";
  if (!isChosen)
    return success();
  if (failed(verifyFrequencies(*this, *getLongFrequencies())))
    return failure();
  if (getLengths().getType() != positions || int64_t(getLongFrequencies()->size()) != count)
    return emitOpError() << "needs lengths as positions and " << count << " frequencies of longer texts, found "
                         << getLengths().getType() << " and " << getLongFrequencies()->size();
  return success();
}

LogicalResult RopeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto table = cast<RankedTensorType>(getCosines().getType());
  if (input.getRank() != 3 || table.getRank() != 2 || input.getDimSize(0) != table.getDimSize(0) ||
      input.isDynamicDim(2) || table.isDynamicDim(1))
    return emitOpError() << "needs an input [tokens, heads, static channels] and a table [tokens, static pairs], found "
                         << input << " and " << table;
  int64_t pairs = table.getDimSize(1), channels = input.getDimSize(2);
  if (pairs == 0 || pairs > channels / 2)
    return emitOpError() << "rotates " << pairs << " pairs of " << channels << " channels";
  if (std::optional<uint64_t> heads = getHeads();
      heads && (input.isDynamicDim(1) || *heads > static_cast<uint64_t>(input.getDimSize(1))))
    return emitOpError() << "rotates " << static_cast<int64_t>(*heads) << " heads of " << input;
  return success();
}

void PositionsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getTokens());
  dims.offsets(getRowBegin(), getOperands().drop_front(2));
}

void SinusoidsOp::relateDims(DimRelations &dims) { dims.equal(getResult(), 0, getPositions(), 0); }

void RotaryTableOp::relateDims(DimRelations &dims) {
  for (Value table : getResults())
    dims.equal(table, 0, getPositions(), 0);
  if (getLengths())
    dims.equal(getLengths(), 0, getPositions(), 0);
}

void RopeOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getInput());
  dims.equal(getCosines(), 0, getInput(), 0);
  dims.equal(getSines(), getCosines());
}

std::optional<unsigned> SinusoidsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

/// The tables have pairs of channels, which stay as many as the frequencies are.
std::optional<unsigned> RopeOp::getChannelsDim(OpOperand &operand) {
  return &operand == &getInputMutable() ? lastDim(operand) : std::nullopt;
}

/// Cosines and sines are no activations, whichever op makes them.
ElementUse RopeOp::getElementUse(OpOperand &operand) {
  return &operand == &getInputMutable() ? ElementUse::computed : ElementUse::factors;
}

bool SinusoidsOp::isPadded() { return getResult().getType().getDimSize(1) != int64_t(getFrequencies().size()); }

/// Angles of far positions need more digits than 16 bits have.
ElementSource RotaryTableOp::getElementSource(Value) { return ElementSource::f32; }
