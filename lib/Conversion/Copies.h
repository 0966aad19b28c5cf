//===- Copies.h - Copies of buffers ------------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace rapt {

/// Whether both sides are the same place: the same value, or subviews of one value with the same operands.
inline bool isOntoItself(mlir::memref::CopyOp copy) {
  mlir::Value source = copy.getSource(), target = copy.getTarget();
  if (source == target)
    return true;
  auto x = source.getDefiningOp<mlir::memref::SubViewOp>(), y = target.getDefiningOp<mlir::memref::SubViewOp>();
  return x && y && mlir::OperationEquivalence::isEquivalentTo(x, y, mlir::OperationEquivalence::IgnoreLocations);
}

} // namespace rapt
