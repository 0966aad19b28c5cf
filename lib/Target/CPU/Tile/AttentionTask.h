//===- AttentionTask.h - Operands of one task of attn.attention ------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Analysis/Mask.h"
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Packed keys [heads, all/32, channels, 32] and values [heads, value channels/32, all, 32]. Blocks of a head are
/// contiguous, so a KV block may be any number of them. (Adjacent blocks of different heads would alias in L1.) For
/// bf16 dot products keys and values are bf16 and VNNI-packed, as in a cache.
struct PackedKeys {
  Value keys, values;
};

/// Blocks that a task has converted, from the sequence's block `first` on: keys [all/32, channels, 32], values
/// [channels/32, all, 32]. Those of a cache are f32; without a cache they are as packed keys are.
struct WidenedKeys {
  Value keys, values, first;
};

struct AttentionTask {
  attn::AttentionOp op;
  MaskBounds bounds;
  bool tellsBlocks, tellsTasks; ///< whether blocks of a tile, and of a task, are skipped by intervals of the mask
  attn::KVViewOp view;          ///< null where keys and values are plain tensors
  PackedKeys packed = {};       ///< null where keys are in a cache
  WidenedKeys widened = {};     ///< null where matmuls read keys in place
  int64_t channels = 0;         ///< of queries and keys: of both pairs where there are two
  int64_t valueChannels = 0, block = 0;
  Value sequence = {}, kvHead = {}, group = {}, head = {};
  Value firstQuery = {}; ///< of the sequence, in the dim q
  Value offset = {};     ///< absolute position of the sequence's first query
  Value firstKey = {};   ///< of the sequence, in the dim kv of plain tensors
  Value keyCount = {};
  Value firstBlock = {}; ///< of the sequence, in packed keys
  attn_cpu::AttentionScheduleAttr schedule = {};
  llvm::SmallVector<Value> summaries = {}; ///< of matrices that the mask reads (KeptKeys.h)

  /// Channels of the first pair, behind which those of a second one are (A45).
  int64_t firstChannels() const;
  /// Whether a tile of the last size repeats the last query where it has fewer queries.
  bool repeatsQueries() const { return schedule.getQueries().back() > 1; }
  /// Most queries of a tile that has as many as are left.
  int64_t mostQueriesLeft() const;
  /// Blocks of keys that all tiles of a task use while they are in L2.
  int64_t blocksOfTask() const { return schedule.getTaskKeys() / block; }
  /// Interleave factor of packed keys and values: 1 for f32, 2 for bf16.
  int64_t interleave() const { return attn_cpu::usesBf16Matmul(attn::AttentionOp(op)) ? 2 : 1; }
  /// Whether the matmuls of a tile of `m` queries are bf16 dot products.
  bool usesBf16Matmul(int64_t m) const;
};

/// Offsets and sizes of a tile of operand `i`: one sequence, head and group; `m` queries from `q`, `n` keys from `kv`.
void tileOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value q, int64_t m, Value kv, int64_t n,
            llvm::SmallVectorImpl<OpFoldResult> &offsets, llvm::SmallVectorImpl<OpFoldResult> &sizes);

/// Sets the offsets of the task's sequence and its number of keys. Returns its number of queries.
Value locateSequence(ImplicitLocOpBuilder &b, AttentionTask &task, OpFoldResult queryExtent, OpFoldResult keyExtent);

/// The length of the longest sequence of the offsets `begin`, [rows + 1]; `extent` where `begin` is null.
OpFoldResult longestSequence(ImplicitLocOpBuilder &b, Value begin, OpFoldResult rows, OpFoldResult extent);

/// The most keys of a sequence. `rows`, `queryExtent` and `keyExtent` are the extents of b, q and kv.
OpFoldResult mostKeys(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                      OpFoldResult queryExtent, OpFoldResult keyExtent);

/// The number of sequences that a buffer has memory for, of which `activeRows` of `rows` use it: `activeRows` where
/// dims tell it. Packed queries have lengths that are data, so that their buffers have memory for all.
OpFoldResult rowsInMemory(attn::AttentionOp op, OpFoldResult rows, OpFoldResult activeRows);

/// Whether the keys and values of all sequences begin at the same element, so that one packed copy serves them.
bool sharesKeys(attn::AttentionOp op);

/// Whether a cache must be converted to f32 before matmuls, as its storage type is another.
bool needsWidening(const AttentionTask &task);

/// Whether matmuls of few rows convert the cache in registers, so that they read keys once and in place.
bool readsInRegisters(const AttentionTask &task);

/// Converts blocks [from, to) of the sequence, at most `most`.
WidenedKeys widenKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most);

/// Whether consecutive blocks of a sequence are contiguous, so that several of them are one KV block.
bool hasContiguousBlocks(const AttentionTask &task);

/// Keys [keys/32, channels, 32] and values [value channels/32, keys, 32] of the sequence's blocks [nth, nth + count):
/// in the cache, packed, or converted to f32. Several blocks of a paged cache are a tensor.concat, which only bf16
/// matmuls accept.
std::pair<Value, Value> keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth, OpFoldResult count);

/// The extent of a type for `size`.
int64_t staticOr(OpFoldResult size);

/// The extra operands of a tile of queries.
struct AttentionExtras {
  /// Slices of one sequence and head with dims of q and kv, and whole tables: operands of attention_state.
  llvm::SmallVector<Value> tensors;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Per extra operand: its element where it depends neither on q nor on kv, else null.
  llvm::SmallVector<Value> elements;
};

/// Slices for queries [inSequence, inSequence + rows) of the sequence and all of its keys. Without b in its map, an
/// extra operand's q and kv are packed as those of query and key.
AttentionExtras sliceExtras(ImplicitLocOpBuilder &b, const AttentionTask &task, Value inSequence, OpFoldResult rows);

} // namespace rapt::tile
