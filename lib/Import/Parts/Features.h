//===- Features.h - Sources that are features of sound -------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// A source of frames of sound in place of words (Radford et al. 2022). Two convolutions over three frames each, zeros
/// beyond the ends, make positions of it: an activation follows each, and the second one has stride 2.
struct FeaturesSpec {
  int64_t channels = 0;                                  ///< of a frame
  int64_t positions = 0;                                 ///< that every source has
  std::array<std::string, 2> parts = {"conv1", "conv2"}; ///< tensors [out, in, 3]
  attn::ActivationKind activation = attn::ActivationKind::gelu;

  int64_t frames() const { return 2 * positions; }
};

/// The positions of features [rows, channels, frames], row by row: [rows * positions, width].
mlir::Value walkFeatures(const Walk &walk, const FeaturesSpec &spec, int64_t width, mlir::Value features);

} // namespace rapt::importing
