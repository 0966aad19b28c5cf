//===- Targets.h - The targets ---------------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/Target.h"

namespace rapt {

/// All targets of Targets.def; the first is the default.
llvm::ArrayRef<const Target *> allTargets();

/// The target of this name, null without one.
const Target *targetNamed(llvm::StringRef name);

} // namespace rapt
