//===- AttentionBlocks.h - Tiles of queries over blocks of keys -------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/AttentionTask.h"

namespace rapt::tile {

/// A tile of queries as attention_state takes it.
struct QueryTile {
  Value query;
  AttentionExtras extras;
  Value position;                      ///< absolute, of the first query
  bool isGroup = false;                ///< all are of one position, in the heads of a group
  llvm::SmallVector<Value> ahead = {}; ///< what is read (at even places) and written after it
};

/// Blocks of keys: any of some queries sees those of [from, end), all of them see those of [wholeFrom, wholeEnd).
struct KeyBlocks {
  Value from, wholeFrom, wholeEnd, end;
  Value keyEnd; ///< the key from which on none of them sees any, in block `end` - 1 or behind it
};

/// Queries [inRow, inRow + m) of the row as they are stored, [m, channels].
Value queryRows(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value inRow);

/// Queries [inRow, inRow + m) of the row as a tile; those beyond the query `last`, if it is given, repeat that.
QueryTile queryTile(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value inRow, Value last = Value());

/// The row's first query in all `m` heads of its group.
QueryTile groupTile(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m);

/// Room for the state (acc, max, sum) of `m` queries.
llvm::SmallVector<Value> stateBuffers(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m);
/// The state before the first key: (acc, max, sum) in `dest`.
llvm::SmallVector<Value> emptyState(ImplicitLocOpBuilder &b, ValueRange dest);

/// The blocks of `count` queries from the absolute position `q` on.
KeyBlocks blocksOf(ImplicitLocOpBuilder &b, const AttentionTask &task, Value q, Value count);

/// The state of `m` queries after the blocks of `range`.
llvm::SmallVector<Value> update(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile, int64_t m,
                                const KeyBlocks &range, ValueRange init);

/// acc / sum of a state's first `count` queries, 0 where the sum is 0, into rows of `dest`.
Value normalize(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange state, Value count, Value dest);

/// Whether the state's maximum is in natural units: a score region gives such scores, and log-sum-exp reads it.
bool isNatural(attn::AttentionOp op);
/// max + log(sum) of a state's first `count` queries, -infinity where the sum is 0, into `dest`, a slice of
/// log-sum-exp. `at` is the place of the query `row` there.
Value logSumExp(ImplicitLocOpBuilder &b, ValueRange state, Value count, Value dest,
                llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, Value row)> at);

/// Where log-sum-exp lies beside the part `of` of the result, whose dim dv comes behind that of queries.
Insertion withoutChannels(attn::AttentionOp op, Insertion of);
/// The part of log-sum-exp at `place`.
Value extractLse(ImplicitLocOpBuilder &b, Value lse, const Insertion &place);

/// Rows of one query each, after the general grid, which has left them alone: `results` (of the op, and log-sum-exp
/// where it has that) with theirs in it. `rows` and `keyHeads` are extents, `groups` the query heads of a
/// key/value head; `isDecode` is whether all rows are such, else there is nothing to do.
llvm::SmallVector<Value> attendSplit(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                                     OpFoldResult keyHeads, int64_t groups, OpFoldResult queries, OpFoldResult keys,
                                     Value isDecode, ValueRange results);

/// The attention weights that the op updates, with those of its heads and layer in them.
Value weigh(ImplicitLocOpBuilder &b, attn::AttentionOp op);

} // namespace rapt::tile
