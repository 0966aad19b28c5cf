//===- Mask.h - Bounds of the keys that a mask keeps ------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Region.h"
#include <optional>

namespace rapt {

/// Bounds of kv in terms of q that a mask region (arguments b, h, q, kv, ...) implies: a kept key has q + *lower <= kv
/// and kv < q + *upper, where a bound is known.
struct MaskBounds {
  std::optional<int64_t> lower, upper;
  /// The region keeps exactly the keys within the bounds.
  bool exact = true;
};

/// Analyzes conjunctions of comparisons that are affine in q and kv (causal mask, sliding window). An empty region
/// keeps all keys.
MaskBounds analyzeMask(mlir::Region &mask);

} // namespace rapt
