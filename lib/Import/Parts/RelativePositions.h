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

/// Sines, then cosines, of the distances from `first` on (Dai et al. 2019), [rows, width], by frequencies from 1 to
/// 1/10000. Row `count` and those behind it, up to a number that every target multiplies by, are as the one before.
mlir::Value buildDistances(const Scope &scope, mlir::Location loc, int64_t count, int64_t first, int64_t width);

/// Dot products of each head of x [tokens, heads, channels] and all positions [rows, width], which `part` projects:
/// [tokens, heads, rows].
mlir::Value multiplyPositions(const Scope &scope, mlir::Value x, mlir::Value positions, const std::string &part);

/// Adds table[token, head, distance from key to query] to every score, and bounds the sum by a soft cap. Distances that
/// the table [tokens, heads, rows] does not have have an end's. `rowBegin` are the offsets of the packed queries.
void addRelativeKeys(const Scope &scope, attn::AttentionOp attention, mlir::Value table, mlir::Value rowBegin,
                     double softCap);

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
