//===- TileValues.h - What the tiles of quantized matmuls are built of -------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// A vector of integers that are all `value`.
mlir::Value splatOf(mlir::ImplicitLocOpBuilder &b, mlir::VectorType type, int64_t value);
/// An index times `factor`.
mlir::Value times(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t factor);
/// The bits of `value` as a vector of `type`: `value` itself where it is one.
mlir::Value asType(mlir::ImplicitLocOpBuilder &b, mlir::VectorType type, mlir::Value value);

/// A loop of `count` iterations, or its one iteration.
void overEach(mlir::ImplicitLocOpBuilder &b, int64_t count,
              llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::Value nth)> body);

} // namespace rapt::cpu
