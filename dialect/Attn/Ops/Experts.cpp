//===- Experts.cpp - Mixtures of experts: routing, and rows by expert ------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

/// More experts, or more of them for a token, are no model's.
static constexpr int64_t kMostExperts = 4096;
/// Numbers that are added up for a group: code has a search for each.
static constexpr int64_t kMostSummed = 8;

LogicalResult ExpertGroupsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t kept, int64_t groups,
                                       int64_t by) {
  if (groups < 1 || kept < 1 || kept > groups || by < 1 || by > kMostSummed)
    return emitError() << "keeps " << kept << " of " << groups << " groups by the " << by
                       << " largest: needs numbers from 1, no more kept than there are, and at most " << kMostSummed
                       << " largest";
  return success();
}

LogicalResult RouteOp::verify() {
  RankedTensorType logits = getLogits().getType(), weights = getWeights().getType(), experts = getExperts().getType();
  const auto of = static_cast<int64_t>(getOf());
  if (logits.getRank() != 2 || logits.isDynamicDim(1))
    return emitOpError() << "needs logits [tokens, experts] with a static number of experts, found " << logits;
  if (of < 1 || of > kMostExperts || of > logits.getDimSize(1))
    return emitOpError() << "chooses of " << of << " experts, needs 1 to " << kMostExperts << ", of which " << logits
                         << " has a logit";
  if (weights.getRank() != 2 || weights.isDynamicDim(1) || weights.getDimSize(1) < 1 ||
      weights.getDimSize(0) != logits.getDimSize(0) || weights.getShape() != experts.getShape())
    return emitOpError() << "needs weights and experts [tokens, k], found " << weights << " and " << experts;
  int64_t choice = of;
  if (std::optional<ExpertGroupsAttr> within = getWithin()) {
    if (of % within->getGroups() != 0 || within->getBy() > of / within->getGroups())
      return emitOpError() << "has " << of << " experts, which " << within->getGroups() << " groups of at least "
                           << within->getBy() << " do not share equally";
    choice = of / within->getGroups() * within->getKept();
  }
  if (weights.getDimSize(1) > choice)
    return emitOpError() << "chooses " << weights.getDimSize(1) << " of " << choice << " experts";
  if (Value bias = getBias())
    if (auto type = cast<RankedTensorType>(bias.getType()); type.getRank() != 1 || type.getDimSize(0) < of)
      return emitOpError() << "needs a bias [" << of << "], found " << type;
  if (getScale() && !getScale()->isFinite())
    return emitOpError("needs a finite scale");
  return success();
}

void RouteOp::relateDims(DimRelations &dims) {
  dims.equal(getWeights(), 0, getLogits(), 0);
  dims.equal(getExperts(), 0, getLogits(), 0);
}

std::optional<unsigned> RouteOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
std::optional<unsigned> RouteOp::getResultChannelsDim(Value) { return std::nullopt; }

std::optional<WeightUse> RouteOp::getWeightUse(OpOperand &operand) {
  return operand.get() == getBias() ? std::optional(WeightUse()) : std::nullopt;
}

ElementUse RouteOp::getElementUse(OpOperand &operand) {
  return operand.get() == getBias() ? ElementUse::fixed : ElementUse::computed;
}
ElementSource RouteOp::getElementSource(Value) { return ElementSource::f32; }

LogicalResult GroupRowsOp::verify() {
  RankedTensorType experts = getExperts().getType(), rows = getRows().getType(), indices = getIndices().getType(),
                   groups = getGroups().getType();
  if (experts.getRank() != 2 || experts.isDynamicDim(1) || indices.getShape() != experts.getShape())
    return emitOpError() << "needs experts and indices [tokens, k], found " << experts << " and " << indices;
  const int64_t tokens = experts.getDimSize(0), k = experts.getDimSize(1);
  if (rows.getRank() != 1 || rows.getDimSize(0) != (ShapedType::isDynamic(tokens) ? tokens : tokens * k))
    return emitOpError() << "gives rows " << rows << " of the pairs of " << experts;
  if (groups.getRank() != 2 || groups.isDynamicDim(0) || groups.getDimSize(0) < 2 ||
      groups.getDimSize(0) > kMostExperts + 1 || groups.getDimSize(1) != 2)
    return emitOpError() << "needs groups [experts + 1, 2] with 1 to " << kMostExperts << " experts, found " << groups;
  return success();
}

void GroupRowsOp::relateDims(DimRelations &dims) {
  dims.equal(getRows(), 0, dims.extent(getExperts(), 0) * dims.number(getExperts().getType().getDimSize(1)));
  dims.equal(getIndices(), getExperts());
}

LogicalResult CombineRowsOp::verify() {
  RankedTensorType input = getInput().getType(), weights = getWeights().getType(), result = getResult().getType();
  if (input.getRank() != 2 || result.getRank() != 2 || result.getDimSize(1) != input.getDimSize(1))
    return emitOpError() << "needs an input [pairs, n] and a result [tokens, n], found " << input << " and " << result;
  if (weights.getRank() != 2 || weights.isDynamicDim(1) || weights.getDimSize(0) != result.getDimSize(0))
    return emitOpError() << "needs weights [tokens, k] for the result " << result << ", found " << weights;
  if (Value indices = getIndices())
    if (auto type = cast<RankedTensorType>(indices.getType()); type.getShape() != weights.getShape())
      return emitOpError() << "needs the place of a row for each of the weights " << weights << ", found " << type;
  if (int64_t rows = weights.getDimSize(0), pairs = input.getDimSize(0);
      !getIndices() && !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(pairs) &&
      pairs != rows * weights.getDimSize(1))
    return emitOpError() << "needs a row for each of the weights " << weights << ", found " << input;
  return success();
}

void CombineRowsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), 0, getWeights(), 0);
  dims.equal(getResult(), 1, getInput(), 1);
  if (Value indices = getIndices())
    dims.equal(indices, getWeights());
  else
    dims.equal(getInput(), 0, dims.extent(getWeights(), 0) * dims.number(getWeights().getType().getDimSize(1)));
}

std::optional<unsigned> CombineRowsOp::getChannelsDim(OpOperand &operand) {
  return operand.get() == getInput() ? lastDim(operand) : std::nullopt;
}

ElementUse CombineRowsOp::getElementUse(OpOperand &operand) {
  return &operand == &getInputMutable()     ? ElementUse::computed
         : &operand == &getWeightsMutable() ? ElementUse::factors
                                            : ElementUse::fixed;
}
