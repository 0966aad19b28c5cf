//===- Tensors.h - Building blocks of code on tensors ----------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <variant>

namespace rapt::tile {

using mlir::ImplicitLocOpBuilder;
using mlir::OpFoldResult;
using mlir::Value;
using mlir::ValueRange;
using OFRs = llvm::ArrayRef<OpFoldResult>;

Value index(ImplicitLocOpBuilder &b, int64_t value);
/// `number` plus `more`.
Value plus(ImplicitLocOpBuilder &b, Value number, int64_t more);
/// Extent `i` of a tensor, a constant where it is static.
OpFoldResult extent(ImplicitLocOpBuilder &b, Value tensor, int64_t i);
/// All of them.
llvm::SmallVector<OpFoldResult> extents(ImplicitLocOpBuilder &b, Value tensor);
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
/// Where a task's result goes in its destination.
struct Insertion {
  Value tile;
  llvm::SmallVector<OpFoldResult> offsets, sizes;
};
using TaskBody =
    llvm::function_ref<llvm::SmallVector<Insertion>(ImplicitLocOpBuilder &, ValueRange ids, ValueRange destinations)>;

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

/// A scalar i32 element as index.
Value readIndex(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices);
/// The row of the op's input that is the j-th of a token.
Value placeOf(ImplicitLocOpBuilder &b, attn::CombineRowsOp op, Value token, Value j);
/// `positions` with those of the tokens of all rows.
Value fillPositions(ImplicitLocOpBuilder &b, attn::PositionsOp op, Value positions);

} // namespace rapt::tile
