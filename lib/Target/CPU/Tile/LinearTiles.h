//===- LinearTiles.h - Tiles of rows of one panel of attn.linear ----------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/LinearTask.h"

namespace rapt::tile {

/// The matmul of rows [0, count) of the task and its panel: with the epilogue into `dest`, [rows of the task, 32 or
/// width]; of a k block onto the accumulators `dest`, [rows, 32].
Value multiplyRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value dest);

/// The matmul of the task's single row and the panels of its weight, [n/32, k, 32] or VNNI-packed, into `dest`, [1, n].
Value multiplyRow(ImplicitLocOpBuilder &b, const LinearTask &task, Value dest);

/// The epilogue of rows [0, count), whose accumulators over all k blocks are `sums`, [rows, 32], into `dest`, [rows of
/// the task, 32 or width].
Value finishRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value sums, Value dest);

} // namespace rapt::tile
