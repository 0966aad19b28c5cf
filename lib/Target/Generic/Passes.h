//===- Passes.h - The generic target ---------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt
