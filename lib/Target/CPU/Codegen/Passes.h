//===- Passes.h - From tiles to machine code for CPUs ----------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt
