//===- RowCache.h - A cache by rows ----------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"

namespace rapt::generic {

/// Code that reads and writes `#attn.cache_rows`.
const CacheAccess &rowCache();

/// The layout of a segment of a cache.
inline attn::CacheLayoutInterface cacheRowsOf(const attn::KVSegment &segment, int64_t block) {
  return attn::CacheRowsAttr::get(segment.keys.element.getContext(), block, segment.keys.channels,
                                  segment.values.channels);
}

} // namespace rapt::generic
