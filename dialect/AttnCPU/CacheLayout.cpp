//===- CacheLayout.cpp - How a block of the cache lies in memory ----------------------===//
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_cpu;

SmallVector<RankedTensorType, 2> CacheLayout::poolsOf(const attn::KVSegment &segment, int64_t block) {
  auto poolOf = [&](const attn::KVPart &part, int64_t parts) {
    CacheLayout layout{part.element, block, attn_cpu::padToPanel(part.channels)};
    return RankedTensorType::get(
        {ShapedType::kDynamic, segment.layers, segment.heads, parts, layout.lines(), layout.columns()}, part.element);
  };
  if (segment.isUniform())
    return {poolOf(segment.keys, 2)};
  return {poolOf(segment.keys, 1), poolOf(segment.values, 1)};
}

std::optional<CacheLayout> CacheLayout::of(ShapedType pool, int64_t channels) {
  if (!pool || pool.getRank() != 6 || channels <= 0 || channels % kPanel != 0)
    return std::nullopt;
  CacheLayout layout{pool.getElementType(), 0, channels};
  // A scale takes as many elements of 8 bits as it has bytes.
  layout.block = pool.getDimSize(4) * pool.getDimSize(5) / (channels + layout.scaleBytes());
  return layout;
}

StringRef CacheLayout::dtype() const { return attn::nameOfStorage(element); }
