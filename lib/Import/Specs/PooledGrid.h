//===- PooledGrid.h - Images whose patches are pooled by squares -----------*- C++ -*-===//
//
// Gemma Team 2026, "Gemma 4": an image keeps its proportions, a patch is told by its column and
// its row, and the mean of a square of patches is one vector. So images of different sizes have
// different numbers of vectors.
//
// The patches of a square are neighbors in the order of tokens, which no layer depends on: a
// square's mean is that of a row of tokens.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// The patches of all images with their positions, [tokens, width]; sets `images`. Pixels beyond the last whole square
/// are left out.
mlir::Value walkSquares(const Walk &walk, const VisionSpec &spec, Images &images);

/// Cosines and sines, each [tokens, pairs]: the first half of the pairs rotates by a patch's column, the others by its
/// row. `frequencies` are those of one half, in radians a patch.
std::array<mlir::Value, 2> buildSquareRotation(const Scope &top, const VisionSpec &spec,
                                               const RotaryFrequencies &frequencies, const Images &images);

/// The vectors of the squares of x [tokens, width]; sets the length of `images` to their number.
mlir::Value walkSquareMeans(const Walk &walk, const VisionSpec &spec, mlir::Value x, Images &images);

/// The longest side of an image in pixels, for which the tokens of a batch can be counted.
int64_t mostSquarePixels(const VisionSpec &spec, const ImportOptions &options);

} // namespace rapt::importing
