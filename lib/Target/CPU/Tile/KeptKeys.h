//===- KeptKeys.h - Blocks of keys that the mask of attention drops or keeps -------*- C++ -*-===//
#pragma once
#include "lib/Conversion/MaskIntervals.h"
#include "lib/Target/CPU/Tile/AttentionTask.h"

namespace rapt::tile {

/// `queries` of a task's sequence from `query` on, counted from its first, and its blocks of keys [from, end).
struct Rectangle {
  Value query, queries, from, end;
};

/// The extra operands that are read to tell what a mask keeps of a rectangle: those with elements of queries or of
/// keys and the summaries of matrices (queries, keys), or also matrices without a summary.
enum class Reads { Vectors, Matrices };

/// Whether keptKeys tells blocks apart: the mask's bounds are not all of it, and its region has intervals.
bool tellsBlocks(attn::AttentionOp op, Reads reads);

/// The extra operands that have summaries.
llvm::SmallVector<unsigned> summarizedMatrices(attn::AttentionOp op);

/// The summaries of the op's extra operands: the least and the largest element of each matrix (queries, keys) for
/// each tile of queries and block of keys, [key heads, groups, tiles, blocks, 2]. Null for other operands, and for a
/// matrix that each head and sequence has for itself. `rows`, `queryExtent` and `keyExtent` are the extents of b, q and
/// kv.
llvm::SmallVector<Value> summarizeMatrices(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows,
                                           OpFoldResult queryExtent, OpFoldResult keyExtent);

/// The answer of the op's mask for a rectangle.
Kept keptKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle, Reads reads);

/// The state that `body` makes of `state` where the mask keeps some key of a rectangle, else `state`.
llvm::SmallVector<Value> whereKept(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle,
                                   Reads reads, ValueRange state,
                                   llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &)> body);

} // namespace rapt::tile
