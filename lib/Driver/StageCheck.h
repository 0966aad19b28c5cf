//===- StageCheck.h - Whether text of a stage fits the command --------------------*- C++ -*-===//
#pragma once
#include "lib/Driver/CodeVariant.h"
#include "lib/Driver/Input.h"

namespace rapt::driver {

/// Checks MLIR text before passes see it: its stage keeps its contract, it was lowered for the target that the command
/// names, and every option of the command still has an effect. An empty message: it has been told.
Status checkStage(mlir::ModuleOp module, const CodeVariant &variant, const Options &options);

} // namespace rapt::driver
