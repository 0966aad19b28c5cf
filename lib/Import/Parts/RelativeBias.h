//===- RelativeBias.h - Biases of scores by distance ----------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"

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

} // namespace rapt::importing
