//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/LastDim.h"

using namespace mlir;
using namespace rapt::attn;

Type KVCacheType::getViewElementType() const {
  return isa<FloatType>(getElementType()) ? getElementType() : Float32Type::get(getContext());
}

LogicalResult KVAppendOp::verify() {
  auto key = cast<RankedTensorType>(getKey().getType()), value = cast<RankedTensorType>(getValue().getType());
  if (key.getRank() != 3 || key != value)
    return emitOpError() << "needs keys and values of one type [tokens, heads, channels], found " << key << " and "
                         << value;
  if (auto cache = dyn_cast<KVCacheType>(getCache().getType()))
    if (key.getDimSize(1) != cache.getHeads() || key.getDimSize(2) != cache.getHeadDim())
      return emitOpError() << "key " << key << " does not fit " << cache;
  return success();
}

LogicalResult KVViewOp::verify() {
  auto keys = cast<RankedTensorType>(getKeys().getType());
  if (keys.getRank() != 4)
    return emitOpError() << "gives keys [rows, positions, heads, channels], found " << keys;
  if (auto cache = dyn_cast<KVCacheType>(getCache().getType()))
    if (keys.getDimSize(2) != cache.getHeads() || keys.getDimSize(3) != cache.getHeadDim() ||
        keys.getElementType() != cache.getViewElementType())
      return emitOpError() << "result " << keys << " does not fit " << cache;
  return success();
}

void KVAppendOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getCache());
  dims.equal(getValue(), getKey());
  dims.offsets(getRowBegin(), {getPast(), getTable()});
}

/// A cache in a target's layout does not tell how many positions a block has.
void KVViewOp::relateDims(DimRelations &dims) {
  auto cache = dyn_cast<KVCacheType>(getCache().getType());
  for (Value result : getResults()) {
    dims.equal(result, 0, getTable(), 0);
    if (cache)
      dims.equal(result, 1, dims.extent(getTable(), 1) * cache.getBlock());
  }
  dims.equal(getValues(), getKeys());
}

void KVAppendOp::addCosts(CostModel &model) {
  Polynomial written = model.elements(getKey()) + model.elements(getValue());
  model.move(getCache(), written * model.elementBytes(getCache()));
  model.move(getKey());
  model.move(getValue());
}

std::optional<unsigned> KVAppendOp::getChannelsDim(Value tensor) {
  return tensor == getKey() || tensor == getValue() ? lastDim(tensor) : std::nullopt;
}

std::optional<unsigned> KVViewOp::getChannelsDim(Value tensor) {
  return tensor == getCache() ? std::nullopt : lastDim(tensor);
}
