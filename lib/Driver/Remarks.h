//===- Remarks.h - Remarks of passes ---------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace rapt::driver {

/// From now on the context's remarks of a category are lines on stderr, each with its layer and rule, and of a fusion
/// its verdict and reason. `option` is CATEGORY, or CATEGORY:REGEX for the lines that the expression matches somewhere.
/// An error tells what is wrong with it.
Status showRemarks(mlir::MLIRContext &context, const std::string &option);

} // namespace rapt::driver
