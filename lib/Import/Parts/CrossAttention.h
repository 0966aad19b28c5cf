//===- CrossAttention.h - Attention to another sequence ---------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"

namespace rapt::importing {

/// The sources that a decoder's queries see: keys and values that `encode` left in the cache.
struct Sources {
  mlir::Value length; ///< tensor<?xi32>, tokens of each row's source
  mlir::Value table;  ///< tensor<?x?xi32>, cache block of each source position / block size
};

/// softmax(scale * query . key) . value over all positions of each row's source, whose keys and values the cache has.
/// query is [tokens, heads, channels].
mlir::Value crossAttention(const Scope &scope, mlir::Location loc, mlir::Value query, mlir::Value scale,
                           mlir::Value cache, mlir::Value rowBegin, const Sources &sources);

/// The cache with keys and values of each row's source for the decoder's layer `scope.layer`; both are [tokens, heads,
/// channels].
mlir::Value appendSource(const Scope &scope, mlir::Location loc, mlir::Value cache, mlir::Value key, mlir::Value value,
                         const Rows &rows);

} // namespace rapt::importing
