//===- PackRows.h - Packs a matmul's rows by tiles ----------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Tiles [tiles, k, each] of the first `rows` rows of `input`, [rows, k] of f32: element (t, c, r) is that of row
/// `t * each + r` and column c, so that a step over k reads the elements of a tile beside each other. The tensor's
/// second extent is k, rounded up to 32. Rows beyond the last one repeat it.
Value packRows(ImplicitLocOpBuilder &b, Value input, OpFoldResult rows, int64_t each);

} // namespace rapt::tile
