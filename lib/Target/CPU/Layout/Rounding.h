//===- Rounding.h - Rows that are written rounded ---------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"

namespace rapt {

/// Why the tasks of the op that makes the input of `rounding` cannot write it rounded; empty where they can.
llvm::StringRef obstacleOfRounding(attn_cpu::CastRowsOp rounding);

/// The rounding of `result` that the tasks of the op which makes it do; null where there is none. Heads of attention
/// are merged before they are rounded.
attn_cpu::CastRowsOp roundingOf(mlir::Value result);

} // namespace rapt
