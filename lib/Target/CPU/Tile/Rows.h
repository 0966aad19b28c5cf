//===- Rows.h - Grids over rows, walked in panels of 32 columns ------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::tile {

/// An entry's argument that no result of the same name updates: memory of the caller that is only read.
bool isReadOnly(Value value);

/// Whether a tensor is [rows, static multiple of 32].
bool isPadded(Value value);

/// The failure of a pattern whose op has a tensor that is not padded; it names the tensor's type.
mlir::LogicalResult refuseColumns(mlir::PatternRewriter &rewriter, mlir::Operation *op, Value value);

/// Whether `op`, in whose block the value is, reads it once and nothing reads it after: then it can be overwritten.
/// Never true of memory of the caller that an entry only reads.
bool isReadLastBy(mlir::Operation *op, Value value);

/// Whether packed sequences with the offsets `begin` cover all rows: an entry's `row_begin` does, which the runtime
/// makes, and so do the offsets that a model computes. A bare kernel's caller may leave a rest.
bool coverAllRows(Value begin);

/// The row behind the last packed sequence.
Value restOf(ImplicitLocOpBuilder &b, Value begin);

/// `dest` with zeros, or `element`, in the rows along dim `dim` that are behind the last packed sequence, a task `each`
/// of them.
Value fillRest(ImplicitLocOpBuilder &b, Value begin, unsigned dim, int64_t each, Value dest, Value element = {});

/// Where an op writes its rows: for what reads them as f32, for the products that read them rounded
/// (lib/Target/CPU/Layout/Rounding.h), or for both, in this order.
class RowResult {
public:
  /// `rows` of `result`, whose columns are static. Rows in f32 overwrite `overwritten`, where it is given.
  RowResult(ImplicitLocOpBuilder &b, Value result, OpFoldResult rows, Value overwritten = {});

  ValueRange getDestinations() const { return destinations; }
  bool hasF32() const { return destinations.size() > (rounding ? 1 : 0); }
  /// `op` is what `made` of these destinations is now.
  void replace(mlir::RewriterBase &rewriter, mlir::Operation *op, ValueRange made);

private:
  attn_cpu::CastRowsOp rounding;
  llvm::SmallVector<Value, 2> destinations;
};

/// A grid over the rows of `inits`, whose columns are static; `body` fills a row of each.
llvm::SmallVector<Value>
rowGrid(ImplicitLocOpBuilder &b, ValueRange inits,
        llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, Value row, ValueRange dests)> body);
/// rowGrid with one result.
Value rowGrid(ImplicitLocOpBuilder &b, Value init,
              llvm::function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body);

/// For each panel of a row: `body` gives the 32 columns that go into all of `dests`.
llvm::SmallVector<Value>
forPanels(ImplicitLocOpBuilder &b, int64_t columns, ValueRange dests,
          llvm::function_ref<Value(ImplicitLocOpBuilder &, Value column, ValueRange carried)> body);
/// forPanels with one destination.
Value forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                llvm::function_ref<Value(ImplicitLocOpBuilder &, Value column, Value carried)> body);

/// A scalar in all 32 lanes of a panel; a panel as it is.
Value splat(ImplicitLocOpBuilder &b, Value scalar);

} // namespace rapt::tile
