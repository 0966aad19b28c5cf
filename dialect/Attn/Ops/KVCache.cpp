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
