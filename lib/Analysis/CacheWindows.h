//===- CacheWindows.h - Caches that forget what no query reads ------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace rapt {

/// Reports a reader of a cache that may read keys behind the window which the function's argument promises
/// (`attn.window`): the runtime gives their blocks back. Calls are inlined.
mlir::LogicalResult verifyCacheWindows(mlir::func::FuncOp function);

} // namespace rapt
