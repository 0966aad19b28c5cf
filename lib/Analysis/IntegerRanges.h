//===- IntegerRanges.h - Integer ranges in score and mask regions ------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Region.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace rapt {

/// Positions of queries and keys are at least 0 and below this (A15). The difference of two positions
/// fits 32 bits, and a scalar may be clamped to 32 bits before it is compared with a position.
inline constexpr int64_t kPositionEnd = (int64_t(1) << 31) - 64;

/// The ranges of the indices and integers that a region of attention computes, inferred from those of its arguments b,
/// h, q and kv; b is argument `first`. An index has 64 bits (A16). Indices and integers of 64 bits that are `bounded`
/// are taken to be from -most to most.
class IntegerRanges {
public:
  IntegerRanges(mlir::Region &region, unsigned first, llvm::ArrayRef<mlir::Value> bounded = {}, int64_t most = 0);

  /// The range of an index or integer; the whole range of the type where nothing is known.
  mlir::ConstantIntRanges of(mlir::Value value) const;
  /// Whether an index fits a signed integer of 32 bits.
  bool fitsInt32(mlir::Value index) const;
  bool isNonNegative(mlir::Value value) const { return !of(value).smin().isNegative(); }

private:
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace rapt
