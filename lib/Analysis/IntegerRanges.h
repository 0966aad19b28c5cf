//===- IntegerRanges.h - Ranges of the integers of score and mask regions ----------*- C++ -*-===//
#pragma once
#include "mlir/IR/Region.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace rapt {

/// Positions of queries and keys are at least 0 and below this (docs/Semantics.md), so that the difference of two of
/// them has 32 bits, and a comparison with a scalar does where the scalar is the nearest number of 32 bits.
inline constexpr int64_t kPositionEnd = (int64_t(1) << 31) - 64;

/// The range of each index and integer that a region of attention computes, from those of its arguments b, h, q and kv,
/// of which b is argument `first`. Arithmetic is that of the values' own types: of an index, 64 bits.
class IntegerRanges {
public:
  IntegerRanges(mlir::Region &region, unsigned first);

  /// Any value of the type where nothing is known. The value is an index or an integer.
  mlir::ConstantIntRanges of(mlir::Value value) const;
  /// Whether all 64 bits of an index are the sign of its lower 32 bits.
  bool fitsInt32(mlir::Value index) const;
  bool isNonNegative(mlir::Value value) const { return !of(value).smin().isNegative(); }

private:
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace rapt
