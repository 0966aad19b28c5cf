//===- DimRelations.h - The extents that an op relates -------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include <optional>

namespace rapt::attn {

/// Relations between the extents of the operands and results of an op, whatever values they have: equations between a
/// dim of a tensor and an expression over other dims, operands of type index and numbers. Expressions are AffineExprs
/// over symbols, and products and quotients of two symbols are allowed; no extent is below 0, and divisions round down.
/// An op states them once (DimRelationsOpInterface); result shapes, kernel dims and costs are read from it.
class DimRelations {
public:
  explicit DimRelations(mlir::MLIRContext *context) : context(context) {}

  /// The extent of dim `dim` of `tensor`, or without a `dim` the value of an operand of type index.
  struct Symbol {
    mlir::Value value;
    std::optional<unsigned> dim;
    bool operator==(const Symbol &) const = default;
  };
  struct Equation {
    mlir::Value tensor;
    unsigned dim;
    mlir::AffineExpr extent;
  };
  struct LowerBound {
    mlir::Value tensor;
    unsigned dim;
    int64_t least;
  };

  mlir::AffineExpr extent(mlir::Value tensor, unsigned dim) { return symbol({tensor, dim}); }
  mlir::AffineExpr index(mlir::Value value) { return symbol({value, std::nullopt}); }
  mlir::AffineExpr number(int64_t number) const { return mlir::getAffineConstantExpr(number, context); }

  /// Dim `dim` of `tensor` is `extent`. The first equation for a dim of a result is the one that reifies it.
  void equal(mlir::Value tensor, unsigned dim, mlir::AffineExpr extent) { equations.push_back({tensor, dim, extent}); }
  void equal(mlir::Value tensor, unsigned dim, mlir::Value other, unsigned otherDim) {
    equal(tensor, dim, extent(other, otherDim));
  }
  /// The dims of two tensors of one rank are equal one by one; nothing for types that are no tensors of one rank.
  void equal(mlir::Value tensor, mlir::Value other);
  /// Dim 0 of `offsets` is one more than that of each of `perRow`: offsets of packed rows, of which there may be none.
  void offsets(mlir::Value offsets, mlir::ValueRange perRow = {});

  /// The extent of the first equation for a dim; null without one.
  mlir::AffineExpr find(mlir::Value tensor, unsigned dim) const;
  llvm::ArrayRef<Equation> getEquations() const { return equations; }
  llvm::ArrayRef<LowerBound> getLowerBounds() const { return lowerBounds; }
  const Symbol &getSymbol(mlir::AffineExpr symbol) const {
    return symbols[llvm::cast<mlir::AffineSymbolExpr>(symbol).getPosition()];
  }

  /// Evaluates an expression in an algebra of T: `dim(tensor, i)`, `index(value)` and `number(n)` give the T of an
  /// extent, an operand of type index and a number; `combine(kind, x, y)` is their sum, product or quotient (Add, Mul,
  /// FloorDiv).
  template <typename T, typename Algebra> T evaluate(mlir::AffineExpr expr, Algebra &algebra) const {
    if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
      return algebra.number(constant.getValue());
    if (llvm::isa<mlir::AffineSymbolExpr>(expr)) {
      const Symbol &symbol = getSymbol(expr);
      return symbol.dim ? algebra.dim(symbol.value, *symbol.dim) : algebra.index(symbol.value);
    }
    auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
    return algebra.combine(expr.getKind(), evaluate<T>(binary.getLHS(), algebra),
                           evaluate<T>(binary.getRHS(), algebra));
  }

private:
  mlir::AffineExpr symbol(const Symbol &symbol);

  mlir::MLIRContext *context;
  llvm::SmallVector<Symbol> symbols;
  llvm::SmallVector<Equation> equations;
  llvm::SmallVector<LowerBound> lowerBounds;
};

/// The shapes of the results of an op with DimRelationsOpInterface: numbers where types are static, else what the first
/// equation for the dim says; null for a dim without an equation. Emits tensor.dim and arith ops where it is needed.
llvm::LogicalResult reifyRelatedDims(mlir::Operation *op, mlir::OpBuilder &builder,
                                     mlir::ReifiedRankedShapedTypeDims &shapes);

} // namespace rapt::attn
