//===- AttentionState.cpp - attn_cpu.attention_state and attention_merge --------===//
#include "dialect/Attn/Ops/Regions.h"
#include "dialect/Attn/Ops/State.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"

using namespace mlir;
using namespace rapt::attn_cpu;
using rapt::attn_cpu::depthOfPanels, rapt::attn::fits, rapt::attn::FoldCastsIntoState, rapt::attn_cpu::interleaveOf,
    rapt::attn::isTableWith, rapt::attn_cpu::kPanel, rapt::attn_cpu::padToPanel, rapt::attn::verifyMerge,
    rapt::attn::verifyRowsOfState, rapt::attn::verifyStateExtras;

/// Whether `extent` can be `count` panels.
static bool isPanels(int64_t count, int64_t extent) {
  if (ShapedType::isDynamic(extent))
    return true;
  return extent % kPanel == 0 && fits(count, extent / kPanel);
}

LogicalResult AttentionStateOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperands().take_back(3).getTypes());
  return success();
}

LogicalResult AttentionMergeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperands().take_back(3).getTypes());
  return success();
}

LogicalResult AttentionStateOp::verify() {
  RankedTensorType query = getQuery().getType(), key = getKey().getType(), value = getValue().getType(),
                   acc = getAcc().getType();
  if (query.getRank() != 2 || acc.getRank() != 2 || key.getRank() != 3 || value.getRank() != 3)
    return emitOpError("needs query [m, d], key [b/32, d, 32], value [dv/32, b, 32] and acc [m, dv]");
  auto isPaneled = [](RankedTensorType type) {
    return type.getDimSize(2) == kPanel * interleaveOf(type.getElementType());
  };
  auto isVnniPacked = [](RankedTensorType type) { return interleaveOf(type.getElementType()) > 1; };
  if (query.isDynamicDim(1) || key.isDynamicDim(1) || value.isDynamicDim(0) || acc.isDynamicDim(1))
    return emitOpError("needs static numbers of channels");
  if (!isPaneled(key) || !isPaneled(value) || depthOfPanels(key) != query.getDimSize(1) ||
      !isPanels(key.getDimSize(0), depthOfPanels(value)) || !isPanels(value.getDimSize(0), acc.getDimSize(1)) ||
      !fits(acc.getDimSize(0), query.getDimSize(0)))
    return emitOpError() << "key " << key << ", value " << value << " and acc " << acc << " do not fit query " << query;
  if (failed(verifyRowsOfState(*this, query.getDimSize(0))))
    return failure();
  if (int64_t rows = query.getDimSize(0); ShapedType::isStatic(rows) && rows % int64_t(getHeads()) != 0)
    return emitOpError() << "has " << rows << " rows, which are no multiple of its " << getHeads() << " heads";
  if (getBf16Matmul() && (!isVnniPacked(key) || !isVnniPacked(value) || getAdditive()))
    return emitOpError()
           << "has 'bf16_matmul', which needs VNNI-packed keys and values and no additive similarity, found " << key
           << " and " << value;
  if (failed(verifyStateExtras(*this, getQueries(), /*keys=*/ShapedType::kDynamic)))
    return failure();
  if (getAdditive()) {
    auto additive = cast<RankedTensorType>(getAdditive().getType());
    // The query's channels may be padded, and the vector not.
    if (int64_t size = additive.getDimSize(0), channels = query.getDimSize(1);
        ShapedType::isDynamic(size) || (size != channels && padToPanel(size) != channels))
      return emitOpError() << "additive vector " << additive << " does not fit query " << query;
  }
  auto isMatrix = [](Value prefetched) { return cast<RankedTensorType>(prefetched.getType()).getRank() == 2; };
  if (!llvm::all_of(getPrefetched(), isMatrix) || getPrefetched().empty() != !getFrom() ||
      getPrefetched().empty() != !getTo())
    return emitOpError("needs 'rows' with matrices that it prefetches, and only with them");
  return success();
}

void AttentionStateOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldCastsIntoState<AttentionStateOp>>(context);
}

int64_t AttentionStateOp::getQueries() {
  const int64_t rows = getQuery().getType().getDimSize(0);
  return ShapedType::isDynamic(rows) ? rows : rows / int64_t(getHeads());
}

bool AttentionStateOp::isTable(unsigned i) { return isTableWith(getExtraMap(i), getExtras()[i]); }

LogicalResult AttentionMergeOp::verify() { return verifyMerge(*this); }
