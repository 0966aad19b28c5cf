//===- GridRotation.h - Rotary embedding by a patch's row and column ------*- C++ -*-===//
//
// Siméoni et al. 2025, "DINOv3": a half of a head's pairs rotates by the row of a patch,
// the other half by its column. Both are in units of the image, from -1 to 1, so that
// images of any size have the same angles.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/VisionTokens.h"

namespace rapt::importing {

/// 2 pi / theta^(4i / channels) for each of the channels / 4 pairs i that rotate by the row: radians from an image's
/// middle to its border.
RotaryFrequencies gridRotary(double theta, int64_t channels);

/// Cosines and sines, each [tokens, pairs], of the tokens of `images`. The pairs of `frequencies` rotate by a patch's
/// row, and as many more by its column; the first `learned` tokens of an image do not rotate.
std::array<mlir::Value, 2> buildGridRotation(const Scope &top, const RotaryFrequencies &frequencies,
                                             const Images &images, int64_t learned);

} // namespace rapt::importing
