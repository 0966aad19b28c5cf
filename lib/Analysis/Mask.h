//===- Mask.h - Which keys a mask region can keep ---------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Region.h"
#include <optional>

namespace rapt {

/// What a mask region (arguments b, h, q, kv, ...) says about kv in terms of q:
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
