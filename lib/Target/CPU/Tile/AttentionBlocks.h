//===- AttentionBlocks.h - Iteration of tiles of queries over KV blocks -----*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/AttentionTask.h"

namespace rapt::tile {

/// A tile of queries and its operands of attn_cpu.attention_state.
struct QueryTile {
  Value query;
  AttentionExtras extras;
  Value inSequence;                         ///< the first query, counted from that of the sequence
  Value position;                           ///< absolute, of the first query
  int64_t heads = 1;                        ///< rows of each query: heads of a group
  llvm::SmallVector<Value> prefetched = {}; ///< matrices read (even positions) and written (odd) after it
};

/// KV blocks of some queries: some query attends to blocks [from, end); all queries attend to all of [wholeFrom,
/// wholeEnd), which needs no mask.
struct KeyBlocks {
  Value from, wholeFrom, wholeEnd, end;
  Value keyEnd; ///< no query attends to keys from here on; in block `end` - 1 or behind it
};

/// Queries [inSequence, inSequence + rows) of the sequence in place, [rows, channels].
Value queryRows(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, Value inSequence);

/// Queries [inSequence, inSequence + rows) of the sequence as a tile; queries beyond `last`, where it is given, repeat
/// it. A dynamic number of rows is at most task.mostQueriesLeft().
QueryTile queryTile(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, Value inSequence,
                    Value last = Value());

/// Queries [inSequence, inSequence + count) of the sequence in `heads` heads of a group from the task's on: `heads`
/// rows of each query. Their number is at most queriesOfTile.
QueryTile groupTile(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult count, Value inSequence,
                    int64_t heads);
/// The number of a tile's queries.
Value queriesOf(ImplicitLocOpBuilder &b, const QueryTile &tile);
/// Most queries of a tile that has `heads` rows of each.
int64_t queriesOfTile(const AttentionTask &task, int64_t heads);

using QueriesBody =
    llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, OpFoldResult count, Value first, ValueRange)>;
/// Iterates over queries [from, end) in tiles of at most `most`. Tiles are balanced: 15 queries are 8 and 7.
llvm::SmallVector<Value> overQueriesLeft(ImplicitLocOpBuilder &b, Value from, Value end, int64_t most, ValueRange init,
                                         QueriesBody body);

/// Buffers for the state (acc, max, sum) of `m` queries.
llvm::SmallVector<Value> stateBuffers(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m);
/// Rows [at, at + count) of each tensor of a state, and the state in which `part` replaces them.
llvm::SmallVector<Value> rowsOfState(ImplicitLocOpBuilder &b, ValueRange state, OpFoldResult at, OpFoldResult count);
llvm::SmallVector<Value> withRowsOfState(ImplicitLocOpBuilder &b, ValueRange state, OpFoldResult at, OpFoldResult count,
                                         ValueRange part);
/// The state (acc, max, sum) of no keys in the buffers `dest`.
llvm::SmallVector<Value> emptyState(ImplicitLocOpBuilder &b, ValueRange dest);
/// The running max and running sum before the keys of query head `head`: those of its sink. Null where the op has none.
struct SinkState {
  Value max, sum;
};
SinkState sinkState(ImplicitLocOpBuilder &b, attn::AttentionOp op, Value head);
/// `emptyState` with the state of a sink, of all queries.
llvm::SmallVector<Value> initialState(ImplicitLocOpBuilder &b, SinkState sink, ValueRange dest);

/// The KV blocks of `count` queries from the absolute position `q` on.
KeyBlocks blocksOf(ImplicitLocOpBuilder &b, const AttentionTask &task, Value q, Value count);

/// The state of a tile's queries after iterating over the KV blocks of `range`.
llvm::SmallVector<Value> update(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                                const KeyBlocks &range, ValueRange init);

/// Writes acc / sum of a state's first `count` queries to rows of `dest`; 0 where the sum is 0.
Value normalize(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange state, Value count, Value dest);

/// Whether the running max is in natural units: results of a score region are, and log-sum-exp needs it.
bool isNatural(attn::AttentionOp op);
/// Writes max + log(sum) of a state's first `count` queries to `dest`, a slice of log-sum-exp; -infinity where the sum
/// is 0. `at` gives the indices of the query `row` in `dest`.
Value logSumExp(ImplicitLocOpBuilder &b, ValueRange state, Value count, Value dest,
                llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, Value row)> at);

/// The slice of log-sum-exp that belongs to the slice `of` of the result.
Insertion sliceOfLse(attn::AttentionOp op, const Insertion &of);
/// Extracts a slice of a result.
Value extractSlice(ImplicitLocOpBuilder &b, Value result, const Insertion &slice);

/// Split-KV attention of the first `activeRows` sequences, all or none, each of at most `split_queries` queries: fills
/// `results`, which other grids have left alone: the op's result, and log-sum-exp where the op has it. `rows`,
/// `keyHeads`, `queries` and `keys` are the extents of b, hkv, q and kv.
llvm::SmallVector<Value> attendSplit(ImplicitLocOpBuilder &b, AttentionTask prototype, OpFoldResult rows,
                                     OpFoldResult keyHeads, OpFoldResult queries, OpFoldResult keys,
                                     OpFoldResult activeRows, ValueRange results);

/// The attention probabilities that the op returns, updated for its heads and layer.
Value updateWeights(ImplicitLocOpBuilder &b, attn::AttentionOp op);

} // namespace rapt::tile
