//===- KernelArguments.h - Scalars and truth values in a caller's memory -----------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace rapt {

/// Whether arrays of a kernel have such elements.
bool isKernelElement(mlir::Type element);

/// Makes arrays of a kernel's arguments and results that C has no array for: a scalar is a tensor without dims (an
/// index one of i64), and an i1 is an i8, which is true where it is not 0. Elements that no array of a kernel has stay
/// as they are. Fails, and reports it, for a function that another one calls.
mlir::LogicalResult passArgumentsInMemory(mlir::func::FuncOp entry);

} // namespace rapt
