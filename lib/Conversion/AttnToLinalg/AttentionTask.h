//===- AttentionTask.h - attn.attention as one task sees it ----------------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"

namespace rapt::tile {

/// Keys of a block where they are not in a cache.
inline constexpr int64_t kBlock = 64;

struct AttentionTask {
  attn::AttentionOp op;
  MaskBounds bounds;
  attn::KVViewOp view; ///< null when keys and values are plain tensors
  int64_t channels, valueChannels, block;
  Value row, kvHead, group, head;
  Value firstQuery; ///< of the row, in the dim q
  Value offset;     ///< absolute position of the row's first query
  Value firstKey;   ///< of the row, in the dim kv of plain tensors
  Value keyCount;
};

/// Offsets and sizes of a tile of operand `i`: one row, head and group; `m` queries from `q`, `n` keys from `kv`.
void tileOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value q, int64_t m, Value kv, int64_t n,
            llvm::SmallVectorImpl<OpFoldResult> &offsets, llvm::SmallVectorImpl<OpFoldResult> &sizes);

/// Keys [blocks, block/32, channels, 32] and values [blocks, value channels/32, block, 32] from `firstBlock` on.
struct KeyBlocks {
  Value keys, values;
  Value firstBlock;
};

/// How many blocks of plain keys a task packs at a time: 256 KiB of keys and values of 64 channels and more.
int64_t blocksTogether(const AttentionTask &task);
/// Packs `count` blocks of plain tensors from block `first` on. Keys beyond the row's count repeat the last one, so
/// that what is masked is finite.
KeyBlocks packBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count);

/// Key tile [block/32, channels, 32] and value tile [value channels/32, block, 32] of block `nth`: of the cache, or of
/// blocks that were packed.
std::pair<Value, Value> keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &blocks,
                                 Value nth);

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
