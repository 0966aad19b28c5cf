//===- Rows.h - Grids over rows, in vectors of 32 columns ------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::tile {

/// Whether a value is an entry's argument that no result of the same name updates: memory of the caller that the entry
/// only reads.
bool isReadOnly(Value value);

/// Whether the rows of a tensor [rows, columns] fill whole panels: a static multiple of 32 columns.
bool fillsPanels(Value value);

/// The match failure of an op that has a tensor whose rows fill no panels; it names the type.
mlir::LogicalResult refuseColumns(mlir::PatternRewriter &rewriter, mlir::Operation *op, Value value);

/// Whether `op` may overwrite the value: it reads it once, and nothing in its block reads it later. False for memory of
/// the caller that an entry only reads.
bool isReadLastBy(mlir::Operation *op, Value value);

/// Whether packed sequences with the offsets `begin` cover all rows. Those of the runtime (an entry's `row_begin`) and
/// those that a model computes do. The caller of a bare kernel may leave rows behind the last sequence.
bool coverAllRows(Value begin);

/// The first row behind the last packed sequence.
Value restOf(ImplicitLocOpBuilder &b, Value begin);

/// Rows of a task of fillRest, where it is of an op whose own tasks have no number of rows.
inline constexpr int64_t kRestRows = 64;

/// Fills the rows behind the last packed sequence, along dim `dim` of `dest`, with zeros or `element`. Tasks have
/// `each` rows.
Value fillRest(ImplicitLocOpBuilder &b, Value begin, unsigned dim, int64_t each, Value dest, Value element = {});

/// Where an op writes its rows: in f32, in bf16 where the cast to it is fused into the op
/// (lib/Target/CPU/Schedule/Fusions.h), or in both, in this order.
class RowResult {
public:
  /// Destinations of the rows of `result`, whose columns are static; `rows` has its other extents. Rows in f32
  /// overwrite `overwritten` where it is given.
  RowResult(ImplicitLocOpBuilder &b, Value result, OFRs rows, Value overwritten = {});

  ValueRange getDestinations() const { return destinations; }
  bool hasF32() const { return destinations.size() > (castRows ? 1 : 0); }
  /// Replaces `op` by `made`, the tensors that its grid wrote to the destinations.
  void replace(mlir::RewriterBase &rewriter, mlir::Operation *op, ValueRange made);

private:
  attn_cpu::CastRowsOp castRows;
  llvm::SmallVector<Value, 2> destinations;
};

/// The row of a tensor at the indices `at` of all dims but the last, which is static.
Value rowOf(ImplicitLocOpBuilder &b, Value tensor, ValueRange at);

/// A grid over the rows of `inits`, along all dims but the last, which is static. `body` fills the row of each at the
/// indices `at`.
llvm::SmallVector<Value>
rowGrid(ImplicitLocOpBuilder &b, ValueRange inits,
        llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange at, ValueRange dests)> body);
/// rowGrid over the rows of a matrix.
Value rowGrid(ImplicitLocOpBuilder &b, Value init,
              llvm::function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body);

/// A loop over vectors of 32 columns of a row: writes what `body` returns to all of `dests`.
llvm::SmallVector<Value>
forPanels(ImplicitLocOpBuilder &b, int64_t columns, ValueRange dests,
          llvm::function_ref<Value(ImplicitLocOpBuilder &, Value column, ValueRange carried)> body);
/// forPanels with one destination.
Value forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                llvm::function_ref<Value(ImplicitLocOpBuilder &, Value column, Value carried)> body);

/// Broadcasts a scalar to 32 lanes; returns a vector unchanged.
Value splat(ImplicitLocOpBuilder &b, Value scalar);

} // namespace rapt::tile
