//===- CachePages.h - How pages of a cache lie in memory, in words ---------------*- C++ -*-===//
#pragma once
#include "lib/Target/Target.h"

namespace rapt::driver {

/// Lines for the header of a kernel that takes `cache` in `memory` as the target lays it out: bytes of a page, where
/// its parts are, and which element is a channel of a position.
std::vector<std::string> describePages(attn::KVCacheType cache, mlir::ShapedType memory, const Target &target);

} // namespace rapt::driver
