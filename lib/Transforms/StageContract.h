//===- StageContract.h - Checks of every stage's contract ----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace rapt {

/// Reports an op that asks for a dim which its shape does not have, or whose index is not known.
mlir::LogicalResult verifyDim(mlir::Operation *op);

/// Runs verifyDim and `verify`, which reports what it finds, on every op of the module.
mlir::LogicalResult verifyEach(mlir::ModuleOp module,
                               llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> verify);

} // namespace rapt
