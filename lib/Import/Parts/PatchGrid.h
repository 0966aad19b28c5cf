//===- PatchGrid.h - Rotation and biases by the positions of patches -*- C++ -*-===//
//
// Siméoni et al. 2025, "DINOv3": a half of a head's pairs rotates by the row of a patch,
// the other half by its column. Both are in units of the image, from -1 to 1, so that
// images of any size have the same angles. Qwen Team 2025, "Qwen3-VL": both are in
// patches (Heo et al. 2024, "Rotary Position Embedding for Vision Transformer"). Bao et al. 2021, "BEiT": scores have
// biases by the distance of two patches in rows and columns.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/AdapterInputs.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/RotaryFrequencies.h"

namespace rapt::importing {

/// The images' values while an entry is built.
struct Images {
  mlir::Value pixels;        ///< [images, channels, height, width]
  ImageAdapters adapters;    ///< which they have
  mlir::Value rowBegin;      ///< of the packed tokens of all images
  mlir::Value length;        ///< tokens of one image
  mlir::Value rows, columns; ///< of patches
};

/// 2 pi / theta^(4i / channels) for each of the channels / 4 pairs i that rotate by the row: radians from an image's
/// middle to its border.
RotaryFrequencies gridRotary(double theta, int64_t channels);

/// Cosines and sines, each [tokens, pairs], of the tokens of `images`. The pairs of `frequencies` rotate by a patch's
/// row, and as many more by its column; the first `learned` tokens of an image do not rotate.
std::array<mlir::Value, 2> buildGridRotation(const Scope &top, const RotaryFrequencies &frequencies,
                                             const Images &images, int64_t learned);

/// 1 / theta^(4i / channels) for each of the channels / 4 pairs i that rotate by the row, and the same by the column:
/// radians from one patch to the next.
RotaryFrequencies patchRotary(double theta, int64_t channels);

/// Cosines and sines, each [tokens, pairs], of patches in as many axes as patchRotary has. Images have no other tokens.
std::array<mlir::Value, 2> buildPatchRotation(const Scope &top, const RotaryFrequencies &frequencies,
                                              const Images &images);

/// Learned positions of a grid of `rows` x `columns` patches, the rows of the weight `symbol`, for one of the images:
/// the corners of both coincide, and between are bilinear mixtures. [patches, width].
mlir::Value resizeBilinearly(const Scope &top, llvm::StringRef symbol, const Images &images, int64_t rows,
                             int64_t columns);

/// Rows of a table of biases for a grid of patches: a distance in rows and columns each, and three of the class token.
inline int64_t gridBiasRows(int64_t rows, int64_t columns) { return (2 * rows - 1) * (2 * columns - 1) + 3; }

/// Adds table[row of the distance, head] to every score of a class token and `rows` x `columns` patches; `table` is
/// [gridBiasRows, heads].
void addGridBias(const Scope &scope, int64_t rows, int64_t columns, attn::AttentionOp attention, mlir::Value table);

} // namespace rapt::importing
