//===- LinearAttention.cpp - Attention as a recurrence over a matrix ----------------===//
#include "dialect/Attn/Ops/Slots.h"
#include <cmath>

using namespace mlir;
using namespace rapt::attn;

namespace {

/// [tokens, heads, channels] with at least one head and channel; null for other types.
RankedTensorType headsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  const bool fits = type && type.getRank() == 3 && !type.isDynamicDim(1) && !type.isDynamicDim(2) &&
                    type.getDimSize(1) > 0 && type.getDimSize(2) > 0;
  return fits ? type : RankedTensorType();
}

} // namespace

LogicalResult LinearAttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &results) {
  for (Value tensor : {adaptor.getQuery(), adaptor.getKey(), adaptor.getValue()})
    if (!headsOf(tensor))
      return emitOptionalError(location,
                               "needs query, key and value [tokens, heads, channels] with static heads and "
                               "channels above 0, found ",
                               tensor.getType());
  RankedTensorType query = headsOf(adaptor.getQuery()), key = headsOf(adaptor.getKey()),
                   value = headsOf(adaptor.getValue());
  const int64_t states = std::max(key.getDimSize(1), value.getDimSize(1));
  results.push_back(RankedTensorType::get(
      {query.getDimSize(0), std::max(states, query.getDimSize(1)), value.getDimSize(2)}, query.getElementType()));
  if (adaptor.getState())
    results.push_back(adaptor.getState().getType());
  return success();
}

/// Whether the numbers of heads allow the pairing.
static LogicalResult verifyHeads(LinearAttentionOp op) {
  const int64_t queries = op.getQuery().getType().getDimSize(1), keys = op.getKey().getType().getDimSize(1),
                values = op.getValue().getType().getDimSize(1), states = op.getStates(), outputs = op.getOutputs();
  if (states % keys != 0 || states % values != 0)
    return op.emitOpError() << "needs a number of value heads that is a multiple of that of key heads, or the reverse, "
                               "found "
                            << keys << " key heads and " << values << " value heads";
  if (outputs % queries != 0 || outputs % states != 0)
    return op.emitOpError() << "needs a number of query heads that is a multiple of that of states, or the reverse, "
                               "found "
                            << queries << " query heads and " << states << " states";
  if (op.getPairing() == HeadPairing::remainder && outputs != states)
    return op.emitOpError() << "pairs by remainder, but has more query heads (" << queries << ") than states ("
                            << states << ")";
  return success();
}

LogicalResult LinearAttentionOp::verify() {
  RankedTensorType query = getQuery().getType(), key = getKey().getType();
  if (query.getDimSize(2) != key.getDimSize(2))
    return emitOpError() << "query " << query << " and key " << key << " have different channels";
  for (Value tensor : {getKey(), getValue(), getDecay(), getBeta()})
    if (tensor && !fits(cast<RankedTensorType>(tensor.getType()).getDimSize(0), query.getDimSize(0)))
      return emitOpError() << tensor.getType() << " and query " << query << " have different tokens";
  if (getRowBegin().getType().getDimSize(0) == 0)
    return emitOpError() << "needs rows [rows + 1], found " << getRowBegin().getType();
  if (failed(verifyHeads(*this)))
    return failure();
  const StringRef kind = stringifyLinearAttentionKind(getKind());
  if (bool(getDecay()) != hasDecay(getKind()))
    return emitOpError() << kind << (getDecay() ? " has no decay" : " needs a decay");
  if (bool(getBeta()) != hasBeta(getKind()))
    return emitOpError() << kind << (getBeta() ? " has no beta" : " needs a beta");
  const int64_t sizes[] = {getStates(), getKeyChannels()};
  if (getDecay() &&
      getDecay().getType().getShape().drop_front() != ArrayRef(sizes).take_front(decaysByChannel() ? 2 : 1))
    return emitOpError() << "needs a decay [tokens, " << sizes[0] << "] or [tokens, " << sizes[0] << ", " << sizes[1]
                         << "], found " << getDecay().getType();
  if (getBeta() && getBeta().getType().getShape().drop_front() != ArrayRef(sizes).take_front(1))
    return emitOpError() << "needs a beta [tokens, " << sizes[0] << "], found " << getBeta().getType();
  if (const double scale = getScale().convertToDouble(); !std::isfinite(scale))
    return emitOpError() << "needs a finite scale, found " << scale;
  return verifySlots(*this, {getStates(), getKeyChannels(), getValueChannels()});
}

void LinearAttentionOp::relateDims(DimRelations &dims) {
  dims.equal(getOutput(), 0, getQuery(), 0);
  dims.equal(getOutput(), 1, dims.number(getOutputs()));
  dims.equal(getOutput(), 2, getValue(), 2);
  for (Value tensor : {getKey(), getValue(), getDecay(), getBeta()})
    if (tensor)
      dims.equal(tensor, 0, getQuery(), 0);
  relateSlots(*this, dims);
}

/// Multiply-adds of the recurrence; the state of a row is read and written once.
void LinearAttentionOp::addCosts(CostModel &model) {
  const Polynomial matrix = Polynomial(getKeyChannels()) * Polynomial(getValueChannels());
  const int64_t passes = (isDelta() ? 2 : 1) * getStates() + getOutputs();
  model.compute(Polynomial(2 * passes) * matrix * model.dim(getQuery(), 0), Float32Type::get(getContext()));
  for (Value tensor : {getQuery(), getKey(), getValue(), getDecay(), getBeta()})
    if (tensor)
      model.move(tensor);
  model.move(getOutput());
  moveSlots(*this, getStates() * getKeyChannels() * getValueChannels(), model);
}

ElementUse LinearAttentionOp::getElementUse(OpOperand &operand) {
  const bool isChosen =
      &operand == &getQueryMutable() || &operand == &getKeyMutable() || &operand == &getValueMutable();
  return isChosen ? ElementUse::computed : ElementUse::fixed;
}

ElementSource LinearAttentionOp::getElementSource(Value result) {
  return result == getOutput() ? ElementSource::rounded : ElementSource::updated;
}

SmallVector<EqualTypes> LinearAttentionOp::getEqualTypes() {
  SmallVector<EqualTypes> types{EqualTypes{getOutput(), getQuery()}};
  if (getState())
    types.push_back(EqualTypes{getNewState(), getState()});
  return types;
}
