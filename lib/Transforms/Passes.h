//===- Passes.h - Passes on the attn dialect and the stages below --------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
#define GEN_PASS_DECL
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt
