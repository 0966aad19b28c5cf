//===- ShortConv.cpp - Causal convolution over a sequence's tokens ------------------===//
#include "dialect/Attn/Ops/Slots.h"

using namespace mlir;
using namespace rapt::attn;

/// The limit of the tokens that a convolution reaches back.
static constexpr int64_t mostReach = 1 << 16;

LogicalResult ShortConvOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  results.push_back(adaptor.getInput().getType());
  if (adaptor.getState())
    results.push_back(adaptor.getState().getType());
  return success();
}

LogicalResult ShortConvOp::verify() {
  RankedTensorType input = cast<RankedTensorType>(getInput().getType()),
                   weight = cast<RankedTensorType>(getWeight().getType());
  if (!weight.hasStaticShape() || weight.getDimSize(0) == 0 || weight.getDimSize(1) == 0)
    return emitOpError() << "needs a weight [taps, channels] with static extents above 0, found " << weight;
  if (input.getDimSize(1) != getChannels())
    return emitOpError() << "input " << input << " and weight " << weight << " have different channels";
  if (getBias() && cast<RankedTensorType>(getBias().getType()).getDimSize(0) != getChannels())
    return emitOpError() << "bias " << getBias().getType() << " does not fit weight " << weight;
  if (getRowBegin().getType().getDimSize(0) == 0)
    return emitOpError() << "needs rows [rows + 1], found " << getRowBegin().getType();
  const int64_t dilation = int64_t(getDilation());
  if (dilation < 1 || dilation > mostReach || getTaps() - 1 > mostReach / dilation)
    return emitOpError() << "has a dilation of " << dilation << " with " << getTaps()
                         << " taps; supported are positive ones that reach at most " << mostReach << " tokens back";
  if (getState() && getReach() == 0)
    return emitOpError() << "has a state, but one tap";
  return verifySlots(*this, {getReach(), getChannels()});
}

void ShortConvOp::relateDims(DimRelations &dims) {
  dims.equal(getOutput(), getInput());
  dims.equal(getInput(), 1, getWeight(), 1);
  if (getBias())
    dims.equal(getBias(), 0, getWeight(), 1);
  relateSlots(*this, dims);
}

void ShortConvOp::addCosts(CostModel &model) {
  model.compute(Polynomial(2 * getTaps()) * model.elements(getInput()), Float32Type::get(getContext()));
  for (Value tensor : {Value(getInput()), Value(getWeight()), Value(getOutput())})
    model.move(tensor);
  if (getBias())
    model.move(getBias());
  moveSlots(*this, getReach() * getChannels(), model);
}

ElementUse ShortConvOp::getElementUse(OpOperand &operand) {
  const bool isState = getState() && operand.get() == getState();
  return isState || &operand == &getWeightMutable() ? ElementUse::fixed : ElementUse::computed;
}

ElementSource ShortConvOp::getElementSource(Value result) {
  return result == getOutput() ? ElementSource::rounded : ElementSource::updated;
}

SmallVector<EqualTypes> ShortConvOp::getEqualTypes() {
  SmallVector<EqualTypes> types{EqualTypes{getOutput(), getInput()}};
  if (getState())
    types.push_back(EqualTypes{getNewState(), getState()});
  return types;
}
