//===- Generic.h - Shorthands for linalg.generic ---------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Tensors.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace rapt::neutral {

using namespace rapt::tile;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::Type;

/// A loop of linalg.generic: parallel, or a reduction.
enum class Loop { Parallel, Reduction };
using Loops = llvm::ArrayRef<Loop>;

/// The elements of the results from those of the operands at one point, in the order of the operands.
using PointBody = llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange elements)>;

/// linalg.generic over `loops`; `maps` are those of `inputs`, then of `inits`.
llvm::SmallVector<Value> generic(ImplicitLocOpBuilder &b, ValueRange inputs, ValueRange inits,
                                 llvm::ArrayRef<AffineMap> maps, Loops loops, PointBody body);

/// The same with one result.
Value generic(ImplicitLocOpBuilder &b, ValueRange inputs, Value init, llvm::ArrayRef<AffineMap> maps, Loops loops,
              llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange elements)> body);

/// Every element of `init` on its own, from those of `inputs` at the same indices. `body` may ask for an index (`at`).
Value forEach(ImplicitLocOpBuilder &b, ValueRange inputs, Value init,
              llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange elements)> body);

/// Inside of a body: the number of the loop `dim`'s iteration.
Value at(ImplicitLocOpBuilder &b, int64_t dim);

/// A map of `dims` dims to those of `results`; -1 is the constant 0.
AffineMap mapOf(ImplicitLocOpBuilder &b, unsigned dims, llvm::ArrayRef<int64_t> results);

/// A tensor of one number.
Value filled(ImplicitLocOpBuilder &b, double number, Value init);

Value number(ImplicitLocOpBuilder &b, double value);
/// A float as f32.
Value widened(ImplicitLocOpBuilder &b, Value number);
/// An f32 rounded to `type`.
Value rounded(ImplicitLocOpBuilder &b, Value number, Type type);
/// A float element of a tensor as f32.
Value read(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices);
/// `value` within 0 .. `extent` - 1.
Value within(ImplicitLocOpBuilder &b, Value value, Value extent);

/// An uninitialized tensor of the extents.
Value emptyOf(ImplicitLocOpBuilder &b, OFRs extents, Type element);
/// The result of an op whose extents are known, uninitialized.
Value emptyFor(ImplicitLocOpBuilder &b, Value result, OFRs extents);
/// `tensor` from `offsets` on, of the same rank.
Value slice(ImplicitLocOpBuilder &b, Value tensor, OFRs offsets, OFRs sizes);

/// Copies the operations of a region that computes one element; `arguments` are those of its block. Returns what it
/// yields. attn.lookup becomes the read of its table.
Value inlineRegion(ImplicitLocOpBuilder &b, mlir::Region &region, ValueRange arguments);

} // namespace rapt::neutral
