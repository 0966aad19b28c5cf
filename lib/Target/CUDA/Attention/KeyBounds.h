//===- KeyBounds.h - Bounds of integers of blocks of keys ------------------------*- C++ -*-===//
//
// A mask that compares integers of keys, as the numbers of documents are, is told for a whole block
// of keys from the least and the largest of them. A kernel ahead of attention finds these once for
// all tiles of queries and all heads.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Conversion/MaskIntervals.h"

namespace rapt::cuda {

/// Bounds of an extra operand of attention, a block of `keys` elements along its dim kv: [dims of the operand with
/// blocks in place of kv, 2] of i64, the least and the complement of the largest.
mlir::Value findKeyBounds(mlir::ImplicitLocOpBuilder &b, const neutral::AttentionOperands &operands, unsigned extra,
                          int64_t keys);

/// The bounds of the elements [first, first + count) of the tile's row, counted as the operand's dim kv is: those of
/// the blocks that they touch, at most two.
tile::Interval keyBoundsOf(mlir::ImplicitLocOpBuilder &b, const neutral::AttentionOperands &operands,
                           const neutral::QueryTile &tile, unsigned extra, int64_t keys, mlir::Value bounds,
                           mlir::Value first, mlir::Value count);

} // namespace rapt::cuda
