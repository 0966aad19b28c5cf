//===- Passes.h - The host program of every target -------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Host/Passes.h.inc"
} // namespace rapt
