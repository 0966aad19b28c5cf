//===- StageContract.h - Checks of every stage's contract ----------------------*- C++ -*-===//
#pragma once
#include "lib/Transforms/Stage.h"
#include "mlir/Pass/Pass.h"

namespace rapt {

/// Reports a pass that runs on a module of another stage than `stages`. A module that names no stage is of any: tests
/// of single passes are such.
mlir::LogicalResult checkStage(mlir::Pass &pass, mlir::Operation *op, llvm::ArrayRef<Stage> stages);

/// Reports an op that asks for a dim which its shape does not have, or whose index is not known.
mlir::LogicalResult verifyDim(mlir::Operation *op);

/// Runs verifyDim and `verify`, which reports what it finds, on every op of the module.
mlir::LogicalResult verifyEach(mlir::ModuleOp module,
                               llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> verify);

} // namespace rapt
