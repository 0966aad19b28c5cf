//===- ZeroPadding.h - Ops that write other numbers into padding ------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Whether each element of the result of `op` is zero where those of its operands are: the padding of the result is
/// zero then. Only an elementwise op and a matmul's epilogue can give another number, as 1 / (1 + exp(-0)) or a
/// quotient do.
bool keepsZeros(mlir::Operation *op);

/// `value` with zeros behind the first `count` elements of each `padded` ones of its last dim.
mlir::Value zeroPadding(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t count, int64_t padded);

} // namespace rapt::cpu
