//===- Mask.h - Bounds of the keys that a mask region keeps -----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Region.h"
#include <optional>

namespace rapt {

/// Bounds of kv in terms of q, which a mask region (arguments b, h, q, kv, ...) implies:
/// a kept key has q + *lower <= kv and kv < q + *upper, as far as they are known.
struct MaskBounds {
  std::optional<int64_t> lower, upper;
  /// The region keeps exactly the keys within the bounds.
  bool exact = true;
};

/// Reads bounds off conjunctions of comparisons that are affine in q and kv (causal, window). An empty region keeps
/// all.
MaskBounds analyzeMask(mlir::Region &mask);

} // namespace rapt
