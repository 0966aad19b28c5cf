//===- Tile.h - Building blocks of tiled code ------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Tensors.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt::tile {

/// Whether rows of this type, one after another, push one another out of a cache, as the schedule of the op's module
/// says: a matmul reads one element of each of a tile's rows at a time.
bool rowsAlias(mlir::Operation *op, mlir::RankedTensorType type);
/// An empty tensor of `type` whose rows are kept a line apart: a slice of one that is wider.
Value emptyApart(ImplicitLocOpBuilder &b, mlir::RankedTensorType type, OFRs extents);
/// An empty tensor for what becomes `result`, of its elements or of `element`, with rows apart where they would alias.
/// Outputs have their exact strides.
Value destination(ImplicitLocOpBuilder &b, Value result, OFRs extents, mlir::Type element = {});

/// `extent` rows in tasks of nearly one size, each of whole tiles and at most `most` rows: how many tasks, and the rows
/// of each but the last. `most` is a multiple of `tile`.
std::pair<OpFoldResult, Value> shareRows(ImplicitLocOpBuilder &b, OpFoldResult extent, int64_t most, int64_t tile);

/// 32 columns at `indices` as f32, whatever the storage type. Columns beyond a last dim that is not padded read as zero
/// and are not written; what is written is rounded to the storage type.
Value readPanel(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices);
Value writePanel(ImplicitLocOpBuilder &b, Value panel, Value tensor, ValueRange indices);
/// `columns` pairs of bf16 from `indices` on, of which each pair is one beside the other: all first ones and all second
/// ones, as f32.
std::pair<Value, Value> readInterleaved(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t columns);
/// The first and the second elements of a vector of pairs, as f32.
std::pair<Value, Value> widenInterleaved(ImplicitLocOpBuilder &b, Value pairs);

} // namespace rapt::tile
