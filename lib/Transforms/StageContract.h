//===- StageContract.h - Checks of every stage's contract ----------------------*- C++ -*-===//
#pragma once
#include "lib/Transforms/Stage.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/Pass/Pass.h"

namespace rapt {

/// Reports a pass that runs on a module of another stage than `stages`. A module that names no stage is of any: tests
/// of single passes are such.
mlir::LogicalResult checkStage(mlir::Pass &pass, mlir::Operation *op, llvm::ArrayRef<Stage> stages);

/// Reports an op that asks for a dim which its shape does not have, or whose index is not known.
mlir::LogicalResult verifyDim(mlir::Operation *op);

/// Reports a value that `op` gives, or that its blocks take, of a type that no program has: one that is no scalar,
/// cache or tensor, or an element that is none of f32, bf16, f16, index, integers of at most 64 bits and quantized
/// values.
mlir::LogicalResult verifyTypes(mlir::Operation *op, Stage stage);

/// verifyTypes of every op of the module, which a pass needs that makes constants of all elements.
mlir::LogicalResult verifyTypes(mlir::ModuleOp module, Stage stage);

/// Reports a module without the target of which the stages from laid-out on are.
mlir::LogicalResult verifyTarget(mlir::ModuleOp module, Stage stage);

/// Reports a linalg op that is no tile: it is in no grid (scf.forall), and its parallel loops have no bound.
mlir::LogicalResult verifyInGrid(mlir::Operation *op);

/// Reports an op of another dialect than those of a stage, which promises a closed list of them.
template <typename... Dialects> mlir::LogicalResult verifyDialects(mlir::Operation *op, Stage stage) {
  if (llvm::isa<mlir::BuiltinDialect, Dialects...>(op->getDialect()))
    return mlir::success();
  mlir::InFlightDiagnostic error = op->emitOpError();
  error << "is not of the stage " << nameOf(stage) << ", whose dialects are builtin";
  ((error << ", " << Dialects::getDialectNamespace()), ...);
  return error;
}

/// Reports an attribute of an op, or of a function's arguments or results, whose name or value is of a dialect that is
/// not among `dialects`: of a machine, if the stage promises code of no target. An inherent attribute that is named in
/// `allowed` may have any value.
mlir::LogicalResult verifyAttributes(mlir::Operation *op, Stage stage, llvm::ArrayRef<llvm::StringRef> dialects,
                                     llvm::ArrayRef<llvm::StringRef> allowed);

/// Runs verifyDim and `verify`, which reports what it finds, on every op of the module.
mlir::LogicalResult verifyEach(mlir::ModuleOp module,
                               llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> verify);

} // namespace rapt
