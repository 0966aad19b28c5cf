//===- RuntimeRun.h - The evaluator below rapt-run's tasks -------------------------===//
#pragma once
#include "lib/Reference/Options.h"
#include "lib/Reference/ParameterReader.h"

namespace rapt::reference {

/// Runs a model's module as rapt-run runs compiled code: padded batches of tensors, or text by ids. Returns the exit
/// status and tells errors.
int runOnRuntime(mlir::ModuleOp module, ParameterReader &parameters, const Options &options);

/// "rapt-reference: error: ..." for exit status `status`: 1 the input is wrong, 2 usage.
int fail(const std::string &message, int status);

} // namespace rapt::reference
