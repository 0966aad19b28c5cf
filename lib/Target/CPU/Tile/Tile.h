//===- Tile.h - Building blocks of tiled code ------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <variant>

namespace rapt::tile {

using mlir::ImplicitLocOpBuilder;
using mlir::OpFoldResult;
using mlir::Value;
using mlir::ValueRange;
using OFRs = llvm::ArrayRef<OpFoldResult>;

/// Rows of a register tile of a product, and queries of a tile of attention.
inline constexpr int64_t kTileRows = 14;
/// Rows of a product by instructions on tiles.
inline constexpr int64_t kMatrixTileRows = 16;

Value index(ImplicitLocOpBuilder &b, int64_t value);
/// Extent `i` of a tensor, a constant where it is static.
OpFoldResult extent(ImplicitLocOpBuilder &b, Value tensor, int64_t i);
Value asValue(ImplicitLocOpBuilder &b, OpFoldResult value);

/// An affine expression of d0, d1, ... over `operands`, folded.
OpFoldResult affineOf(ImplicitLocOpBuilder &b, mlir::AffineExpr expr, OFRs operands);
OpFoldResult affineMin(ImplicitLocOpBuilder &b, OFRs values);
OpFoldResult affineMax(ImplicitLocOpBuilder &b, OFRs values);

/// source[offsets][sizes], as a tensor of `shape`: the slice, or the slice without unit dims. Upstream's folds take the
/// first unit dims for those that are left out, so none may follow a dim that stays and may have extent 1.
Value extract(ImplicitLocOpBuilder &b, Value source, OFRs offsets, OFRs sizes, llvm::ArrayRef<int64_t> shape);
Value insert(ImplicitLocOpBuilder &b, Value tile, Value dest, OFRs offsets, OFRs sizes);

/// An empty tensor of `like`'s type; dynamic extents are those given.
Value empty(ImplicitLocOpBuilder &b, mlir::RankedTensorType type, OFRs extents);
/// Whether rows of this type, one after another, push one another out of a cache: a product reads one element of each
/// of 14 rows at a time.
bool rowsAlias(mlir::RankedTensorType type);
/// An empty tensor of `type` whose rows are kept a line apart: a slice of one that is wider.
Value emptyApart(ImplicitLocOpBuilder &b, mlir::RankedTensorType type, OFRs extents);
/// An empty tensor for what becomes `result`, of its elements or of `element`, with rows apart where they would alias.
/// Outputs have their exact strides.
Value destination(ImplicitLocOpBuilder &b, Value result, OFRs extents, mlir::Type element = {});

/// Where a task's result goes in its destination.
struct Insertion {
  Value tile;
  llvm::SmallVector<OpFoldResult> offsets, sizes;
};
using TaskBody =
    llvm::function_ref<llvm::SmallVector<Insertion>(ImplicitLocOpBuilder &, ValueRange ids, ValueRange destinations)>;

/// `extent` rows in tasks of nearly one size, each of whole tiles and at most `most` rows: how many tasks, and the rows
/// of each but the last. `most` is a multiple of `tile`.
std::pair<OpFoldResult, Value> shareRows(ImplicitLocOpBuilder &b, OpFoldResult extent, int64_t most, int64_t tile);

/// A parallel grid: one insertion per destination and task. Returns the results: the destinations as they are where an
/// extent is 0.
llvm::SmallVector<Value> grid(ImplicitLocOpBuilder &b, OFRs extents, ValueRange destinations, TaskBody body);

/// A number of iterations, or of elements, that a loop goes on by.
using Step = std::variant<int64_t, Value>;

/// for i = lower to upper step `step` with carried values, or one.
llvm::SmallVector<Value>
loop(ImplicitLocOpBuilder &b, Value lower, Value upper, Step step, ValueRange init,
     llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, Value i, ValueRange carried)> body);
Value loop(ImplicitLocOpBuilder &b, Value lower, Value upper, Step step, Value init,
           llvm::function_ref<Value(ImplicitLocOpBuilder &, Value i, Value carried)> body);

/// 32 columns at `indices` as f32, whatever the storage type. Columns beyond a last dim that is not padded read as zero
/// and are not written; what is written is rounded to the storage type.
Value readPanel(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices);
Value writePanel(ImplicitLocOpBuilder &b, Value panel, Value tensor, ValueRange indices);
/// `columns` pairs of bf16 from `indices` on, of which each pair is one beside the other: all first ones and all second
/// ones, as f32.
std::pair<Value, Value> readPairs(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t columns);
/// The first and the second elements of a vector of pairs, as f32.
std::pair<Value, Value> widenPairs(ImplicitLocOpBuilder &b, Value pairs);
/// A scalar i32 element as index.
Value readIndex(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices);

} // namespace rapt::tile
