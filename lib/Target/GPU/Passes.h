//===- Passes.h - Passes that targets of GPUs share ------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt
