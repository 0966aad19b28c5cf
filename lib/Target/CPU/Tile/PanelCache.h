//===- PanelCache.h - Elements of the cache, for neutral decompositions ------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"

namespace rapt::tile {

/// Reads the layout of dialect/AttnCPU/CacheLayout.h element by element: right, and slow.
const CacheReader &panelCache();

/// On a linalg op of a neutral decomposition: it becomes loops, not vectors of a known shape.
inline constexpr llvm::StringLiteral kLoopsAttr = "attn_cpu.loops";

} // namespace rapt::tile
