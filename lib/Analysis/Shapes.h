//===- Shapes.h - Extents of an entry's tensors in its dims -----------------------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Sum.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace rapt {

/// The extents of the tensors of a canonical entry as sums of products of the dims that its arguments name. It is an
/// algebra of attn::DimRelations.
class Shapes {
public:
  /// Unknown where it does not follow from arguments.
  Sum dim(mlir::Value tensor, unsigned i);
  /// A value of type index, made of extents and constants.
  Sum index(mlir::Value value);
  /// The product of all extents.
  Sum elements(mlir::Value tensor);

  Sum number(int64_t number) { return Sum(number); }
  Sum opaque(mlir::Value value);
  Sum combine(mlir::AffineExprKind kind, const Sum &lhs, const Sum &rhs);

private:
  Sum compute(mlir::Value tensor, unsigned i);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Sum> known;
};

} // namespace rapt
