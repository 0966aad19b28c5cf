//===- ColumnGroups.h - Columns that come in parts -----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Value.h"

namespace rapt {

/// Columns of a part when `value`'s columns come in parts that a layout may pad each (heads, or the gates of a
/// recurrence), else 0. Sums keep their operands' columns, as do rows that are selected; a sum that was fused is an
/// extra operand.
int64_t columnGroup(mlir::Value value);

} // namespace rapt
