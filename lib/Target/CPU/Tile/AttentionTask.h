//===- AttentionTask.h - attn.attention as one task sees it ----------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Analysis/Mask.h"
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Keys [heads, all/32, channels, 32] and values [heads, value channels/32, all, 32]: a step takes any number of a
/// head's blocks, which lie one after another. (Those of several heads in turn would be on the same lines of a cache.)
/// For products of pairs they are bf16, and two lines of 32 lie element by element in one, as in a cache.
struct PackedKeys {
  Value keys, values;
};

/// Blocks of a cache in f32, from the row's block `first` on: keys [all/32, channels, 32], values [channels/32, all,
/// 32].
struct WidenedKeys {
  Value keys, values, first;
};

struct AttentionTask {
  attn::AttentionOp op;
  MaskBounds bounds;
  attn::KVViewOp view;      ///< null when keys and values are plain tensors
  PackedKeys packed = {};   ///< null when they are in a cache
  WidenedKeys widened = {}; ///< null when a product reads them where they lie
  int64_t channels = 0, valueChannels = 0, block = 0;
  Value row = {}, kvHead = {}, group = {}, head = {};
  Value firstQuery = {}; ///< of the row, in the dim q
  Value offset = {};     ///< absolute position of the row's first query
  Value firstKey = {};   ///< of the row, in the dim kv of plain tensors
  Value keyCount = {};
  Value firstBlock = {}; ///< of the row, in what is packed
  /// Its `queries` are those of the tiles that a task is cut into: of a task with fewer than the largest ones, those
  /// that come after.
  cpu::AttentionSchedule schedule = {};

  /// Whether queries of a tile of the last size that there are not repeat the last one.
  bool repeatsQueries() const { return schedule.queries.back() > 1; }
  /// Lines of 32 keys' channels, or of values, that lie in one where they are packed.
  int64_t together() const { return attn_cpu::usesBf16Matmul(attn::AttentionOp(op)) ? 2 : 1; }
  /// Whether the products of a tile of `m` queries are of pairs.
  bool pairs(int64_t m) const;
};

/// Offsets and sizes of a tile of operand `i`: one row, head and group; `m` queries from `q`, `n` keys from `kv`.
void tileOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value q, int64_t m, Value kv, int64_t n,
            llvm::SmallVectorImpl<OpFoldResult> &offsets, llvm::SmallVectorImpl<OpFoldResult> &sizes);

/// Queries and keys of the task's row, and where they begin. Returns how many queries it has.
Value locateRow(ImplicitLocOpBuilder &b, AttentionTask &task, OpFoldResult queryExtent, OpFoldResult keyExtent);

/// The most elements that a row has in `begin`, [rows + 1]; `extent` where that is null.
OpFoldResult longestRow(ImplicitLocOpBuilder &b, Value begin, OpFoldResult rows, OpFoldResult extent);

/// Packs the keys and values of an op without a cache as a cache has them: tasks of a grid take 32 keys of all heads,
/// which lie together.
/// `rows`, `heads`, `queryExtent` and `keyExtent` are the extents of b, hkv, q and kv. Sequences that read the same
/// keys and values share one packed copy, as long as the longest of them needs. Keys beyond a sequence's count repeat
/// its last one.
PackedKeys packKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, OpFoldResult heads,
                    OpFoldResult queryExtent, OpFoldResult keyExtent);

/// Whether products cannot read the cache as it is stored.
bool needsWidening(const AttentionTask &task);

/// Whether a product of few rows widens it in registers: keys are then read once, where they lie.
bool readsInRegisters(const AttentionTask &task);

/// Blocks [from, to) of the row, at most `most`, in f32.
WidenedKeys widenKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most);

/// Whether several blocks of keys make one tile.
bool liesTogether(const AttentionTask &task);

/// Key tile [keys/32, channels, 32] and value tile [value channels/32, keys, 32] of the row's blocks [nth, nth +
/// count): of the cache, packed, or widened. Only products of pairs take several blocks of a cache, each at its own
/// place.
std::pair<Value, Value> keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth, OpFoldResult count);

/// The extra operands as a tile of queries sees them.
struct AttentionExtras {
  /// Slices of one row and head with dims of q and kv, and whole tables: operands of attention_state.
  llvm::SmallVector<Value> tensors;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Per extra operand: its element where that does not depend on q or kv, else null.
  llvm::SmallVector<Value> elements;
};

/// Slices for queries [inRow, inRow + m) of the row and all of its keys. Without b in its map, an extra's q and kv are
/// packed as the query's and the key's.
AttentionExtras sliceExtras(ImplicitLocOpBuilder &b, const AttentionTask &task, Value inRow, int64_t m);

} // namespace rapt::tile
