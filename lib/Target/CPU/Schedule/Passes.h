//===- Passes.h - Schedules of the CPU -------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/CPU/Schedule/Passes.h.inc"
} // namespace rapt
