//===- ReadByRows.h - The attribute of a parameter that is a table ------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace rapt::attn {

/// Attribute of a parameter from the stage laid-out on: its rows are looked up, and nothing else reads it, so a step
/// needs few of its bytes. It is advice: code computes the same with it and without.
inline constexpr llvm::StringLiteral readByRowsAttr = "attn.read_by_rows";

} // namespace rapt::attn
