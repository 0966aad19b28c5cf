//===- Elements.h - Functions of the elements of activations --------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/Scope.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rapt::importing {

/// A tensor and those of the loops' dims that are its own.
struct Operand {
  mlir::Value tensor;
  llvm::SmallVector<unsigned, 3> dims;
};

/// f(elements) at each point of the first operand, which has all dims.
mlir::Value mapElements(const Scope &scope, mlir::Location loc, llvm::ArrayRef<Operand> operands,
                        llvm::function_ref<mlir::Value(const Scope &inner, mlir::ValueRange elements)> f);

} // namespace rapt::importing
