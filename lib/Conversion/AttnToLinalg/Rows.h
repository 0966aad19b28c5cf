//===- Rows.h - Grids over rows, walked in panels of 32 columns ------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/Tile.h"

namespace rapt::tile {

/// An entry's argument that no result of the same name updates: memory of the caller that is only read.
bool isReadOnly(Value value);

/// Whether a tensor is [rows, static multiple of 32].
bool isPadded(Value value);

/// Whether `op`, in whose block the value is, reads it once and nothing reads it after: then it can be overwritten.
/// Never true of memory of the caller that an entry only reads.
bool isReadLastBy(mlir::Operation *op, Value value);

/// A grid over the rows of `init`, whose columns are static; `body` fills a row of it.
Value rowGrid(ImplicitLocOpBuilder &b, Value init,
              llvm::function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body);

/// For each panel of a row: `body` gives the 32 columns that go into `dest`.
Value forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                llvm::function_ref<Value(ImplicitLocOpBuilder &, Value column, Value carried)> body);

/// A scalar in all 32 lanes of a panel; a panel as it is.
Value splat(ImplicitLocOpBuilder &b, Value scalar);

} // namespace rapt::tile
