//===- RowCache.h - A cache by rows ----------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"

namespace rapt::generic {

/// Code that reads and writes `#attn.cache_rows`.
const CacheAccess &rowCache();

} // namespace rapt::generic
