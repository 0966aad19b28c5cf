//===- OnlineSoftmax.h - Attention of a tile of queries, block after block ---------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"

namespace rapt::neutral {

/// Queries of a task, and keys of a block where they are not in a cache.
inline constexpr int64_t kQueries = 16, kKeys = 64;

/// The operands that attn.attention and attn.attention_weights share, by the numbers of attn.attention's maps.
struct AttentionOperands {
  using Dim = attn::AttentionOp::Dim;
  enum Operand : unsigned { Query, Key, Value_, Result, FirstExtra };

  explicit AttentionOperands(attn::AttentionOp op);
  explicit AttentionOperands(attn::AttentionWeightsOp op);

  mlir::Operation *op;
  Value query, key, value, scale, qBegin, qOffset, kvBegin, kvLength, additive; ///< null where there is none
  llvm::SmallVector<Value> extras;
  llvm::SmallVector<AffineMap> maps; ///< query, key, value, result, extras; empty where there is none
  mlir::Region *score, *mask;

  /// The tensor with map `i`, but the result; null where there is none.
  Value operand(unsigned i) const;
  bool isTable(unsigned extra) const;
  /// The place of a dim in operand i.
  std::optional<unsigned> placeOf(unsigned i, Dim dim) const;
  /// The extent of a dim by the first operand that has it; 1 without one.
  OpFoldResult extentOf(ImplicitLocOpBuilder &b, Dim dim) const;
  /// The cache that keys and values are in, or null.
  attn::KVViewOp view() const;
};

/// A tile of queries of one row and head.
struct QueryTile {
  Value row, keyHead, group, head;
  Value first;       ///< its first query in the dim q
  Value inRow;       ///< its first query, counted from the row's first
  Value position;    ///< absolute, of its first query
  OpFoldResult size; ///< queries, at most kQueries
  Value firstKey;    ///< of the row, in the dim kv of plain tensors
  Value from, to;    ///< keys that one of the queries may see, counted from the row's first
};

/// Why the operands have no decomposition; empty: they have one.
std::string obstacle(const AttentionOperands &operands, const CacheReader *cache);

/// Tile `nth` of the queries of a row.
QueryTile queryTile(ImplicitLocOpBuilder &b, const AttentionOperands &operands, Value row, Value keyHead, Value group,
                    Value nth);

/// Where the tile lies in operand i: offsets and sizes of one row, head and group, with all channels.
void placeQueries(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile, unsigned i,
                  llvm::SmallVectorImpl<OpFoldResult> &offsets, llvm::SmallVectorImpl<OpFoldResult> &sizes);

/// A map from the loops `dims` of a generic over a part of operand i: the dims that are not among them have extent 1.
AffineMap mapOfPart(ImplicitLocOpBuilder &b, const AttentionOperands &operands, unsigned i,
                    llvm::ArrayRef<AttentionOperands::Dim> dims);

/// A block of keys, [first, first + size) of the row.
struct KeyBlock {
  Value first;
  OpFoldResult size;
  Value keys, values;         ///< parts of the operands, or of the cache
  AffineMap keyMap, valueMap; ///< from (q, kv, dqk) and (q, kv, dv)
};

/// for each block of keys that the tile may see: `body` takes the carried values through it.
llvm::SmallVector<Value>
overBlocks(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const CacheReader *cache, const QueryTile &tile,
           ValueRange init,
           llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, const KeyBlock &, ValueRange)> body);

/// Scores of a tile and a block, [queries, keys], and which keys count (i8), null for all of them.
struct Scores {
  Value scores, kept;
};
Scores scoresOf(ImplicitLocOpBuilder &b, const AttentionOperands &operands, const QueryTile &tile,
                const KeyBlock &block);

/// The running maximum and sum of e^(score - maximum), [queries], after a block. `probabilities` are e^(score -
/// maximum), and -1 of keys that do not count; `decay` is e^(maximum before - maximum).
struct Softmax {
  Value maximum, sum, probabilities, decay;
};
Softmax advance(ImplicitLocOpBuilder &b, const Scores &scores, Value maximum, Value sum);

/// The state of no keys.
Value lowest(ImplicitLocOpBuilder &b, OpFoldResult queries);
Value zeros(ImplicitLocOpBuilder &b, OpFoldResult queries);

} // namespace rapt::neutral
