//===- RowCache.h - A cache by rows ----------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"

namespace rapt::generic {

/// A pool is [blocks, layers, heads, {keys, values}, positions, channels], or, where keys and values differ, such a
/// pool of each, with one of them in that dim. In i8 the scale of a position (f32, its bytes from the lowest on) is
/// behind its codes.
class RowCache : public CacheAccess {
public:
  /// The pool of a segment of a cache in memory: of keys and values, or one of each.
  static llvm::SmallVector<mlir::RankedTensorType, 2> poolsOf(const attn::KVSegment &segment, int64_t block);

  bool matches(mlir::Type pool, int64_t channels) const override;
  int64_t blockOf(mlir::RankedTensorType pool, int64_t channels) const override;
  mlir::Value read(mlir::ImplicitLocOpBuilder &b, mlir::Value pool, mlir::Value block, mlir::Value layer,
                   mlir::Value head, Part part, int64_t channels) const override;
  mlir::Value write(mlir::ImplicitLocOpBuilder &b, mlir::Value slice, Part part, mlir::Value position, mlir::Value row,
                    int64_t channels) const override;
};

/// Bytes of a scale behind the codes of a position.
inline constexpr int64_t kScaleBytes = 4;

const RowCache &rowCache();

} // namespace rapt::generic
