//===- Math.h - What attn-expand-math may know of an argument ------------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace rapt::cpu {

/// On a math.exp2: its argument is never above zero. Nothing can overflow then, which saves a third of the
/// instructions.
inline constexpr llvm::StringLiteral kNonpositiveAttr = "nonpositive";

} // namespace rapt::cpu
