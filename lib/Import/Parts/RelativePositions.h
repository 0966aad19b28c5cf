//===- RelativePositions.h - Scores that know the distance of tokens -*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Buckets of distances from query to key (Raffel et al. 2020): half of a direction's hold a distance each, the others
/// grow with its logarithm up to `maxDistance`. Keys ahead have the second half of the buckets, or, in a decoder, none.
struct RelativeBuckets {
  int64_t buckets, maxDistance;
  bool isDecoder = false;
};

/// Adds table[bucket, head] to every score; `table` is [buckets, heads].
void addRelativeBias(const Scope &scope, const RelativeBuckets &buckets, attn::AttentionOp attention,
                     mlir::Value table);

/// The embeddings of the distances that texts of `longest` tokens have, [rows, width], for all layers.
mlir::Value walkRelativePositions(const Walk &walk, const StackSpec &stack, const DisentangledSpec &spec,
                                  int64_t longest);

/// The projections of positions that a layer has of its own.
void addDisentangled(const ParameterScope &layer, const StackSpec &stack, const DisentangledSpec &spec);

/// Tables [tokens, heads, rows] that the scores of a layer read: dot products of contents and positions.
struct DisentangledTables {
  mlir::Value ofQueries; ///< each query with all positions as keys; null: none
  mlir::Value ofKeys;    ///< each key with all positions as queries; null: none
};

/// The tables of a layer whose queries and keys are [tokens, heads, channels].
DisentangledTables buildDisentangledTables(const Scope &scope, const StackSpec &stack, const DisentangledSpec &spec,
                                           mlir::Value positions, mlir::Value query, mlir::Value key);

/// Adds scale * (query . position + key . position) to every score. `rowBegin` are the offsets of the attention's
/// packed sequences.
void addDisentangledScores(const Scope &scope, const DisentangledSpec &spec, int64_t longest,
                           attn::AttentionOp attention, const DisentangledTables &tables, mlir::Value rowBegin);

} // namespace rapt::importing
