//===- ColumnGroups.h - Columns that are padded in parts -----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Value.h"

namespace rapt {

/// Columns of a part when `value`'s columns come in parts that are padded each (heads, or the gates of a recurrence),
/// else 0. Sums keep their operands' columns; one that was fused is an extra operand.
int64_t columnGroup(mlir::Value value);

/// 0 where groups of `columns` need no padding of their own in the panels of a weight file, else `columns`.
int64_t columnGroupOf(int64_t columns);

} // namespace rapt
