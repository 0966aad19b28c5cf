//===- Entries.h - The functions of a module that programs call ---------------===//
#pragma once
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace rapt::attn {

/// The functions that become entries: those that say so, or in a module of kernels without any those that nothing
/// calls.
llvm::SmallVector<mlir::FunctionOpInterface> entriesOf(mlir::Operation *module);

} // namespace rapt::attn
