//===- Tile.h - Helpers that emit tiled code -------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Tensors.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt::tile {

/// Whether consecutive rows of this type alias in L1 by the schedule of the op's module. A matmul reads one element of
/// each row of a tile at a time, so aliasing rows evict one another.
bool rowsAlias(mlir::Operation *op, mlir::RankedTensorType type);
/// An empty tensor of `type` whose rows do not alias: a slice of a wider tensor.
Value emptyApart(ImplicitLocOpBuilder &b, mlir::RankedTensorType type, OFRs extents);
/// An empty tensor that becomes `result`, with its element type or `element`. Rows that would alias are padded; outputs
/// have their exact strides.
Value destination(ImplicitLocOpBuilder &b, Value result, OFRs extents, mlir::Type element = {});

/// Splits `extent` rows evenly into tasks of at most `most` rows, a multiple of `tile`. Returns the number of tasks,
/// and the rows of each task but the last, also a multiple of `tile`.
std::pair<OpFoldResult, Value> shareRows(ImplicitLocOpBuilder &b, OpFoldResult extent, int64_t most, int64_t tile);

/// readPanel reads 32 columns, or `columns` that divide 32, at `indices` and converts them to f32; writePanel converts
/// 32 columns to the storage type. Columns beyond a last dim that is not padded are read as zero and not written.
Value readPanel(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t columns = attn_cpu::kPanel);
Value writePanel(ImplicitLocOpBuilder &b, Value panel, Value tensor, ValueRange indices);
/// Reads 2 * `columns` interleaved bf16 from `indices` on and deinterleaves them to two vectors of f32.
std::pair<Value, Value> readInterleaved(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t columns);
/// Deinterleaves a vector of bf16 to two vectors of f32: its even and its odd elements.
std::pair<Value, Value> widenInterleaved(ImplicitLocOpBuilder &b, Value interleaved);

} // namespace rapt::tile
