//===- KernelHeader.h - The C header of a bare kernel --------------------------===//
#pragma once
#include "lib/Artifact/Manifest.h"

namespace rapt::artifact {

/// NAME.h of kernels without weights: for every entry NAME(env, inputs..., outputs..., dims, scratch), NAME_scratch and
/// NAME_supported (C99; the last asks the compiler's CPU test, since the object itself contains no such code).
std::string writeKernelHeader(const Manifest &manifest);

} // namespace rapt::artifact
