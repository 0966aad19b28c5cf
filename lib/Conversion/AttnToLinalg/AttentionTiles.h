//===- AttentionTiles.h - Tiles of queries and blocks of keys of attention ---------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/OnlineSoftmax.h"
#include "lib/Conversion/Schedule.h"

namespace rapt::neutral {

/// The operands of attn.attention, by the numbers of its maps.
struct AttentionOperands {
  using Dim = attn::AttentionOp::Dim;
  enum Operand : unsigned { Query, Key, Value_, Result, FirstExtra };

  explicit AttentionOperands(attn::AttentionOp op);

  attn::AttentionOp op;
  /// Null where there is none; the value also where none is read.
  Value query, key, value, scale, qBegin, qOffset, kvBegin, kvLength, additive, sink, secondQuery, secondKey;
  llvm::SmallVector<Value> extras;
  llvm::SmallVector<AffineMap> maps; ///< query, key, value, result, extras, second query, second key
  mlir::Region *score, *mask;
  attn::AttentionTilesAttr tiles; ///< queries of a task, and keys of a block that is not a cache's

  /// The tensor with map `i`, but the result; null where none is read.
  Value operand(unsigned i) const;
  bool isTable(unsigned extra) const;
  /// The number of the second query's map; the second key's is the next.
  unsigned second() const { return FirstExtra + extras.size(); }
  /// The place of a dim in operand i.
  std::optional<unsigned> placeOf(unsigned i, Dim dim) const;
  /// The extent of a dim by the first operand that has it; 1 without one.
  OpFoldResult extentOf(ImplicitLocOpBuilder &b, Dim dim) const;
  /// The views of caches that keys, values and second keys are of; none where they are plain tensors.
  llvm::SmallVector<attn::KVViewOp> views() const;
};

/// A tile of queries of one row and head, or of several query heads of a group.
struct QueryTile {
  Value row, keyHead, group, head;
  int64_t heads = 1; ///< `head` and `group` are those of the first
  Value first;       ///< its first query in the dim q
  Value inRow;       ///< its first query, counted from the row's first
  Value position;    ///< absolute, of its first query
  OpFoldResult size; ///< queries, at most those of the schedule
  Value firstKey;    ///< of the row, in the dim kv of plain tensors
  Value from, to;    ///< keys that one of the queries may see, counted from the row's first
};

/// Why the operands have no decomposition; empty: they have one.
std::string notLegalBecause(const AttentionOperands &operands, const CacheReader *cache);

/// Tile `nth` of the queries of a row.
QueryTile queryTile(ImplicitLocOpBuilder &b, const AttentionOperands &operands, Value row, Value keyHead, Value group,
                    Value nth);

/// Where the tile lies in operand i: offsets and sizes of one row and of its heads, with all channels.
void placeQueries(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile, unsigned i,
                  llvm::SmallVectorImpl<OpFoldResult> &offsets, llvm::SmallVectorImpl<OpFoldResult> &sizes);

/// A map from the loops `dims` of a generic over a part of operand i: the dims that are not among them have extent 1.
AffineMap mapOfPart(ImplicitLocOpBuilder &b, const AttentionOperands &operands, unsigned i,
                    llvm::ArrayRef<AttentionOperands::Dim> dims);

/// The keys that some query of a tile may see, counted from the row's first, and how many of them a KV block has: in a
/// cache the range starts at a block of it, and KV blocks are those.
struct KeyRange {
  Value from, to;
  int64_t step;
};
KeyRange keyRange(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile);

/// Keys or values [first, first + size) of the row, [size, channels]: of a plain tensor, or of what the view of a cache
/// gives.
Value keyRows(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile, unsigned operand,
              Value first, OpFoldResult size);
/// Keys and values of a KV block, which is within one block of a cache; values null where the operands have none. A
/// second pair's channels are behind those of the first, as scoreTile has them in its query (A45).
struct KeyBlock {
  Value keys, values;
};
KeyBlock keyBlock(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const CacheReader *cache,
                  const QueryTile &tile, const KeyRange &range, Value first, OpFoldResult size);

/// The part of extra operand i, not a table, that the tile and the keys [first, first + size) see: a slice with the
/// dims of the operand.
Value extraOf(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile, unsigned operand,
              Value first, OpFoldResult size);

/// The tile with the keys [first, first + size) of its row, which are `key`.
ScoreTile scoreTile(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile, Value key,
                    Value first, OpFoldResult size);

/// The running max and running sum of a tile's queries before any key: those of its head's sink (A42), or of nothing.
llvm::SmallVector<Value> initialSums(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile);

/// The attention weights that the op updates, with those of its heads and layer in them.
Value weigh(ImplicitLocOpBuilder &b, AttentionOperands operands, const CacheReader *cache);

} // namespace rapt::neutral
