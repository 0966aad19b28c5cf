//===- WindowGrid.h - Windows of a grid of patches -----------------------*- C++ -*-===//
//
// Liu et al. 2021, "Swin Transformer": patches attend to those of their window, and in
// every second layer to those of a shifted one. Tokens are in the order of the windows:
// window by window, row by row, and a window's patches row by row.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/Blocks.h"

namespace rapt::importing {

/// A grid of rows x columns patches, cut into windows of side x side, which divides both.
struct WindowGrid {
  int64_t rows, columns, side;

  int64_t patches() const { return rows * columns; }
  int64_t windows() const { return patches() / (side * side); }
};

/// Where an order of the grid's patches finds them.
struct GridOrder {
  bool isOfWindows = true; ///< otherwise row by row
  int64_t shift = 0;       ///< patches by which the grid is moved up and left; what leaves it comes back
};

/// For each token of `images` grids in the order `to` its index in the order `from`, tensor<?xi32>.
mlir::Value reorder(const Scope &scope, mlir::Location loc, mlir::Value images, const WindowGrid &grid,
                    const GridOrder &from, const GridOrder &to);

/// Rows of a table of biases for the distances of patches in a window.
inline int64_t windowBiasRows(int64_t side) { return (2 * side - 1) * (2 * side - 1); }

/// Adds table[distance, head] to every score of an attention whose rows are windows. Where the grid is shifted, -100
/// keeps patches apart that came into one window from opposite borders.
void addWindowBias(const Scope &scope, const WindowGrid &grid, int64_t shift, attn::AttentionOp attention,
                   mlir::Value table);

} // namespace rapt::importing
