//===- Neutral.h - Ops that have no layout of the CPU -----------------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace rapt::cpu {

/// On an op whose operands could not be padded to panels: only its neutral decomposition is right.
inline constexpr llvm::StringLiteral kNeutralAttr = "attn_cpu.neutral";

} // namespace rapt::cpu
