//===- Passes.h - Passes that lower tiles to vector code -------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt
