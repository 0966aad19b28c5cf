//===- Math.h - Facts about arguments for attn-expand-math ---------------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace rapt::host {

/// On a math.exp2: its argument is never above zero. Nothing can overflow then, which saves a third of the
/// instructions.
inline constexpr llvm::StringLiteral kNonpositiveAttr = "nonpositive";

/// On such a math.exp2: its result is rounded to bf16, whose 2^-9 hides an error of 2^-13.
inline constexpr llvm::StringLiteral kRoundedAttr = "rounded";

} // namespace rapt::host
