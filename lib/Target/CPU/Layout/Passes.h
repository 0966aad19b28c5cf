//===- Passes.h - Layouts of the CPU ---------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt
