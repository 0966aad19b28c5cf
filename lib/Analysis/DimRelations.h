//===- DimRelations.h - Relations between the extents of any op's values ----------*- C++ -*-===//
#pragma once
#include "dialect/Attn/DimRelations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace rapt {

/// Adds the relations between the extents of the operands, results and region arguments of an op: those that an op of
/// attn states (attn::DimRelationsOpInterface), or those that follow from the interfaces of an upstream op.
void relateDims(mlir::Operation *op, attn::DimRelations &dims);

/// Evaluates a value of type index in an algebra of T (attn::DimRelations::evaluate): constants, extents and integer
/// arithmetic on them; any other value is `algebra.opaque(value)`.
template <typename T, typename Algebra> T evaluateIndex(mlir::Value value, Algebra &algebra) {
  using namespace mlir;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSignificantBits() <= 64 ? algebra.number(number.getSExtValue()) : algebra.opaque(value);
  Operation *op = value.getDefiningOp();
  auto dim = llvm::dyn_cast_or_null<tensor::DimOp>(op);
  if (std::optional<int64_t> i = dim ? dim.getConstantIndex() : std::nullopt)
    return algebra.dim(dim.getSource(), *i);
  auto operand = [&](unsigned i) { return evaluateIndex<T>(op->getOperand(i), algebra); };
  if (llvm::isa_and_present<arith::AddIOp>(op))
    return algebra.combine(AffineExprKind::Add, operand(0), operand(1));
  if (llvm::isa_and_present<arith::SubIOp>(op))
    return algebra.combine(AffineExprKind::Add, operand(0),
                           algebra.combine(AffineExprKind::Mul, operand(1), algebra.number(-1)));
  if (llvm::isa_and_present<arith::MulIOp>(op))
    return algebra.combine(AffineExprKind::Mul, operand(0), operand(1));
  if (llvm::isa_and_present<arith::DivUIOp, arith::DivSIOp>(op))
    return algebra.combine(AffineExprKind::FloorDiv, operand(0), operand(1));
  return algebra.opaque(value);
}

} // namespace rapt
