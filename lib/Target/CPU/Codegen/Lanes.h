//===- Lanes.h - One number a row in the lanes of a vector ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Rows whose maxima or sums are in the lanes of one vector.
inline constexpr int64_t kLanes = 16;

using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

mlir::VectorType lanesOf(mlir::OpBuilder &b);

/// The halves of a panel of 32 combined.
mlir::Value fold(mlir::ImplicitLocOpBuilder &b, mlir::Value panel, Combine combine);

/// Each of at most 16 vectors of 16 lanes reduced: lane r has what `combine` makes of vector r, lanes beyond repeat
/// some.
mlir::Value reduceRows(mlir::ImplicitLocOpBuilder &b, llvm::SmallVector<mlir::Value> rows, Combine combine);

/// A tensor of at most 16 numbers as 16 lanes; those beyond repeat some.
mlir::Value readLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor);
/// The first lanes into a tensor of at most 16 numbers.
mlir::Value writeLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value lanes, mlir::Value tensor);

} // namespace rapt::cpu
