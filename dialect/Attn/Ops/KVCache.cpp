//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/CacheLayout.h"

using namespace mlir;
using namespace rapt::attn;

Type KVCacheType::getViewElementType() const {
  return isa<FloatType>(getElementType()) ? getElementType() : Float32Type::get(getContext());
}

RankedTensorType KVCacheType::inMemory() const {
  CacheLayout layout{getElementType(), getBlock(), padToPanel(getHeadDim())};
  return RankedTensorType::get({ShapedType::kDynamic, getLayers(), getHeads(), 2, layout.lines(), layout.columns()},
                               getElementType());
}

std::optional<CacheLayout> CacheLayout::of(ShapedType pool, int64_t channels) {
  if (!pool || pool.getRank() != 6 || channels <= 0 || channels % kPanel != 0)
    return std::nullopt;
  CacheLayout layout{pool.getElementType(), 0, channels};
  // A scale takes as many elements of 8 bits as it has bytes.
  layout.block = pool.getDimSize(4) * pool.getDimSize(5) / (channels + layout.scaleBytes());
  return layout;
}

StringRef CacheLayout::dtype() const {
  return element.isF32() ? "f32" : element.isBF16() ? "bf16" : element.isF16() ? "f16" : "int8";
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
