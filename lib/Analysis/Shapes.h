//===- Shapes.h - Extents of tensors as polynomials over an entry's dims ----------*- C++ -*-===//
#pragma once
#include "dialect/Attn/Polynomial.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace rapt {

/// Computes the extents of the tensors of a canonical entry as polynomials over the dims that its arguments name. An
/// algebra of attn::DimRelations.
class Shapes {
  using Polynomial = attn::Polynomial;

public:
  /// An extent; unknown where it does not follow from the entry's arguments.
  Polynomial dim(mlir::Value tensor, unsigned i);
  /// A value of type index that is computed from extents and constants.
  Polynomial index(mlir::Value value);
  /// The product of all extents.
  Polynomial elements(mlir::Value tensor);

  Polynomial number(int64_t number) { return Polynomial(number); }
  Polynomial opaque(mlir::Value value);
  Polynomial combine(mlir::AffineExprKind kind, const Polynomial &lhs, const Polynomial &rhs);

private:
  Polynomial compute(mlir::Value tensor, unsigned i);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Polynomial> known;
};

} // namespace rapt
