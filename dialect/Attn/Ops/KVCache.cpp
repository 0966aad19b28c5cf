//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "dialect/Attn/AttnOps.h"

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

void KVViewOp::relateDims(DimRelations &dims) {
  int64_t block = 0;
  if (auto cache = dyn_cast<KVCacheType>(getCache().getType()))
    block = cache.getBlock();
  else if (auto layout = CacheLayout::of(cast<ShapedType>(getCache().getType()), getKeys().getType().getDimSize(3)))
    block = layout->block;
  for (Value result : getResults()) {
    dims.equal(result, 0, getTable(), 0);
    if (block > 0)
      dims.equal(result, 1, dims.extent(getTable(), 1) * block);
  }
  dims.equal(getValues(), getKeys());
}

void KVAppendOp::addCosts(CostModel &model) {
  Polynomial written = model.elements(getKey()) + model.elements(getValue());
  model.move(getCache(), written * model.elementBytes(getCache()));
  model.move(getKey());
  model.move(getValue());
}
