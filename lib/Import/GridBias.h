//===- GridBias.h - Biases of scores by the distance of patches -----------*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"

namespace rapt::importing {

/// Rows of a table of biases for a grid of patches: a distance in rows and columns each, and three of the class token.
inline int64_t gridBiasRows(int64_t rows, int64_t columns) { return (2 * rows - 1) * (2 * columns - 1) + 3; }

/// Adds table[row of the distance, head] to every score of a class token and `rows` x `columns` patches; `table` is
/// [gridBiasRows, heads].
void addGridBias(const Scope &scope, int64_t rows, int64_t columns, attn::AttentionOp attention, mlir::Value table);

} // namespace rapt::importing
