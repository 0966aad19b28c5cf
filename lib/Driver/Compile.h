//===- Compile.h - From an input to the stage that was asked for ------------------===//
#pragma once
#include "lib/Driver/Options.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace rapt::driver {

/// Imports or parses the input, takes it to `options.emit` (a text stage or obj) and writes that to options.output, or
/// to `out` without one. An error is for exit status 1.
Status compileStage(const Options &options, llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace rapt::driver
