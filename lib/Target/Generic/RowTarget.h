//===- RowTarget.h - A target without packed layouts ---------------------*- C++ -*-===//
#pragma once
#include "lib/Target/Generic/RowCache.h"
#include "lib/Target/Target.h"

namespace rapt::generic {

/// A target whose cache is rows. Parameters are rows, too, unless it says more.
class RowTarget : public Target {
public:
  llvm::StringRef cacheLayout(mlir::Type) const override { return "rows"; }

  attn::CacheLayoutInterface layoutOfCache(const attn::KVSegment &segment, int64_t block) const override {
    return cacheRowsOf(segment, block);
  }

  std::optional<artifact::Layout> layoutInFile(attn::ParameterLayoutInterface) const override { return std::nullopt; }
};

} // namespace rapt::generic
