//===- When.h - Branches of kernels -----------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::any_gpu {

/// Emits `code` where `condition` is true, and `otherwise` where it is not. The builder stays behind the branch.
void when(mlir::ImplicitLocOpBuilder &b, mlir::Value condition, llvm::function_ref<void()> code,
          llvm::function_ref<void()> otherwise = {});

} // namespace rapt::any_gpu
