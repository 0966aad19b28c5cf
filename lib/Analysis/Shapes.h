//===- Shapes.h - Extents of an entry's tensors in its dims -----------------------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Sum.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace rapt {

/// Tells extents of the tensors of a canonical entry as sums of products of the dims that its arguments name.
class Shapes {
public:
  /// Unknown where ops that are not of the canonical stage make the tensor.
  Sum extent(mlir::Value tensor, unsigned i);
  /// A value of type index, made of extents and constants.
  Sum index(mlir::Value value);
  /// The product of all extents.
  Sum elements(mlir::Value tensor);

private:
  Sum compute(mlir::Value tensor, unsigned i);
  Sum computeResult(mlir::OpResult tensor, unsigned i);
  Sum computeRows(mlir::OpResult tensor, unsigned i);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Sum> known;
};

} // namespace rapt
