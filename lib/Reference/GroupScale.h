//===- GroupScale.h - Numbers that become codes while a program runs ------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rapt::reference {

/// The scale of a group (docs/Semantics.md). Codes are those of binary32 whatever the precision: one that is rounded
/// the other way is another number.
struct GroupScale {
  float scale = 0, inverse = 0;

  template <typename S> explicit GroupScale(llvm::ArrayRef<S> group) {
    float largest = 0;
    bool isFinite = true;
    for (S element : group) {
      isFinite &= std::isfinite(float(element));
      largest = std::max(largest, std::fabs(float(element)));
    }
    if (!isFinite)
      scale = std::numeric_limits<float>::quiet_NaN();
    else if (largest >= 0x1p-100f)
      inverse = 127 / largest, scale = largest / 127;
  }

  int64_t codeOf(double x) const { return inverse > 0 ? int64_t(std::nearbyint(float(x) * inverse)) : 0; }
};

} // namespace rapt::reference
