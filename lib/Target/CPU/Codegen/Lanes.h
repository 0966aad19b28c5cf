//===- Lanes.h - Vectors with one lane per row ---------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Rows whose running max or running sum share one vector.
inline constexpr int64_t kLanes = 16;

using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

mlir::VectorType lanesOf(mlir::OpBuilder &b);

/// Combines the two halves of a vector of 32.
mlir::Value fold(mlir::ImplicitLocOpBuilder &b, mlir::Value panel, Combine combine);

/// Reduces each of at most 16 vectors of 16 lanes: lane r of the result is vector r reduced by `combine`. Lanes beyond
/// the last vector repeat others.
mlir::Value reduceRows(mlir::ImplicitLocOpBuilder &b, llvm::SmallVector<mlir::Value> rows, Combine combine);

/// Reads a tensor of at most 16 elements into 16 lanes; lanes beyond its end repeat others, or are 0 where its extent
/// is dynamic.
mlir::Value readLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor);
/// Writes the first lanes into a tensor of at most 16 elements.
mlir::Value writeLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value lanes, mlir::Value tensor);

} // namespace rapt::cpu
