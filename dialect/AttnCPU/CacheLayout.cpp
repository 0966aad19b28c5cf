//===- CacheLayout.cpp - How a block of the cache lies in memory ----------------------===//
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_cpu;

RankedTensorType CacheLayout::poolOf(attn::KVCacheType cache) {
  CacheLayout layout{cache.getElementType(), cache.getBlock(), attn_cpu::padToPanel(cache.getHeadDim())};
  return RankedTensorType::get(
      {ShapedType::kDynamic, cache.getLayers(), cache.getHeads(), 2, layout.lines(), layout.columns()},
      cache.getElementType());
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
