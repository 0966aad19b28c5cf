//===- CacheWindow.h - The attribute of a cache that forgets -----------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace rapt::attn {

/// Argument attribute of entries: a query at position q of a sequence reads no key of this cache at position q - window
/// or before, so the caller may give the blocks of such positions back.
inline constexpr llvm::StringLiteral cacheWindowAttr = "attn.window";

} // namespace rapt::attn
