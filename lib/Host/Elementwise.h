//===- Elementwise.h - Arithmetic on scalars and vectors alike -------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::host {

using mlir::ImplicitLocOpBuilder;
using mlir::Type;
using mlir::Value;
using mlir::VectorType;

/// Emits arithmetic on scalars or vectors of floats, of the type of its first value.
struct Elementwise {
  ImplicitLocOpBuilder &b;
  Type type;

  Elementwise(ImplicitLocOpBuilder &b, Value like) : b(b), type(like.getType()) {}

  Type withElement(Type element) const {
    auto vector = llvm::dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value real(double value) {
    mlir::FloatAttr scalar = b.getFloatAttr(mlir::getElementTypeOrSelf(type), value);
    if (auto vector = llvm::dyn_cast<VectorType>(type))
      return mlir::arith::ConstantOp::create(b, mlir::DenseElementsAttr::get(vector, scalar));
    return mlir::arith::ConstantOp::create(b, scalar);
  }
  Value integer(int32_t value) {
    Type i32 = withElement(b.getI32Type());
    if (auto vector = llvm::dyn_cast<VectorType>(i32))
      return mlir::arith::ConstantOp::create(b, mlir::DenseElementsAttr::get(vector, b.getI32IntegerAttr(value)));
    return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return mlir::math::FmaOp::create(b, x, y, z); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }

  /// c[0] + c[1] x + ...
  Value polynomial(Value x, llvm::ArrayRef<double> c) {
    Value y = real(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      y = fma(y, x, real(coefficient));
    return y;
  }
};

} // namespace rapt::host
