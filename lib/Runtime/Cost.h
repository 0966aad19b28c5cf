//===- Cost.h - Operations and bytes of a run of an entry -----------------------===//
#pragma once
#include "lib/Runtime/Manifest.h"

namespace rapt::runtime {

struct Cost {
  double flops = 0;                               ///< of matmuls
  double weights = 0, cache = 0, activations = 0; ///< bytes
  Cost &operator+=(const Cost &other);
};

/// The entry's counts for a run with these buffers and dims, both in the order of the manifest, into
/// entry.counts.size() numbers.
void countLengths(const ManifestEntry &entry, void *const *buffers, const int64_t *dims, double *counts);

/// Cost of the op in one layer.
Cost evaluateCost(const ManifestOp &op, const int64_t *dims, const double *counts);

} // namespace rapt::runtime
