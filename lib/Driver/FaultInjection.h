//===- FaultInjection.h - Bugs on request -------------------------------------------------*- C++ -*-===//
//
// The hidden option --inject-fault=KIND@PLACE lets tests see what a bug of the compiler
// leaves behind, where no known input makes one.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Driver/Options.h"
#include "mlir/Pass/Pass.h"

namespace rapt::driver {

/// Outside of passes: ends by the signal, or waits for one, if the option names this place.
void injectFault(const Options &options, llvm::StringRef place);

/// A pass that fails, leaves invalid IR, or does the same as injectFault; null if the option names another stage.
std::unique_ptr<mlir::Pass> makeFaultyPass(const Options &options, llvm::StringRef stage);

} // namespace rapt::driver
