//===- OnlineSoftmax.h - Scores of a tile, and the state of online softmax ---------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/Generic.h"

namespace rapt::neutral {

/// Queries [m, d] and keys [n, d] of one row and head, with what their scores depend on, as attn.attention_state has
/// them.
struct ScoreTile {
  Value query, key, scale;
  Value b, h, q, kv; ///< row, head, and the absolute positions of the first query and key
  llvm::SmallVector<Value> extras;
  llvm::SmallVector<AffineMap> extraMaps; ///< over (q, kv)
  Value additive;                         ///< null: the similarity is the dot product
  mlir::Region *score, *mask;             ///< may be empty

  static ScoreTile of(attn::AttentionStateOp op);
  bool isTable(unsigned extra) const;
};

/// Scores of a tile, [queries, keys], and which keys count (i8), null for all of them.
struct Scores {
  Value scores, kept;
  llvm::SmallVector<OpFoldResult> shape;
};
Scores scoresOf(ImplicitLocOpBuilder &b, const ScoreTile &tile);

/// The running max and sum of e^(score - max), [queries], after a KV block. `probabilities` are e^(score - max), and -1
/// of keys that do not count; `decay` is e^(max before - max).
struct Softmax {
  Value maximum, sum, probabilities, decay;
};
Softmax advance(ImplicitLocOpBuilder &b, const Scores &scores, Value maximum, Value sum);

/// The state of no keys.
Value lowest(ImplicitLocOpBuilder &b, OpFoldResult queries);
Value zeros(ImplicitLocOpBuilder &b, OpFoldResult queries);

/// Changes the operands of one KV block of a tiled attn.attention_state; `first` is the block's first key, counted from
/// those of the whole op, and `size` how many it has.
using BlockHook =
    llvm::function_ref<void(ImplicitLocOpBuilder &, attn::AttentionStateOp block, Value first, OpFoldResult size)>;

/// Tiles the op over its keys, `step` in a KV block, and decomposes each block. Gives the op's results; the op itself
/// stays.
llvm::SmallVector<Value> overKeys(mlir::RewriterBase &rewriter, attn::AttentionStateOp op, int64_t step,
                                  BlockHook hook = nullptr);

/// Erases the ops that make `values`, and then those that only they have read, as far as nothing uses them.
void eraseDead(mlir::RewriterBase &rewriter, ValueRange values);

} // namespace rapt::neutral
