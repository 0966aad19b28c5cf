//===- NormSpec.h - The specification of a normalization -----------------*- C++ -*-===//
#pragma once
#include <cstdint>

namespace rapt::importing {

/// A normalization of the last dim.
struct NormSpec {
  enum Kind : uint8_t { Layer, RMS };
  Kind kind = RMS;
  double epsilon = 1e-6;
  bool hasWeight = true, hasBias = false; ///< without them: 1 and 0
  bool isAroundOne = false;               ///< the checkpoint has the weight's distance from 1
};

} // namespace rapt::importing
