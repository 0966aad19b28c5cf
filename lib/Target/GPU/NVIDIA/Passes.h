//===- Passes.h - Passes of the CUDA target --------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt
