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

namespace rapt::any_gpu {

/// Bounds of each extra operand of attention whose dim kv the mask can use them of, else null. Those of a block of
/// the schedule's keys are [dims of the operand with blocks in place of kv, 2] of i64, the least and the complement of
/// the largest. A tile has `heads` query heads of a group.
llvm::SmallVector<mlir::Value> findAllKeyBounds(mlir::ImplicitLocOpBuilder &b,
                                                const neutral::AttentionOperands &operands, int64_t heads);

/// The bounds of the elements [first, first + count) of the tile's row, counted as the operand's dim kv is: those of
/// the blocks that they touch, at most two.
tile::Interval keyBoundsOf(mlir::ImplicitLocOpBuilder &b, const neutral::AttentionOperands &operands,
                           const neutral::QueryTile &tile, unsigned extra, int64_t keys, mlir::Value bounds,
                           mlir::Value first, mlir::Value count);

} // namespace rapt::any_gpu
