//===- ScalarOps.h - Ops of arith and math on scalars ----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Operation.h"

namespace rapt::attn {

/// Whether the reference evaluates an op of arith or math, and every target compiles it.
bool isScalarOp(mlir::Operation *op);

/// Names the ops to use instead of another op of arith or math; empty where nothing is known.
llvm::StringRef insteadOf(mlir::Operation *op);

} // namespace rapt::attn
