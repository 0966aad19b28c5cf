//===- KernelHeader.h - The C header of bare kernels ---------------------------===//
#pragma once
#include "lib/Artifact/Manifest.h"

namespace rapt::artifact {

/// NAME.h of kernels without weights: for every entry NAME(env, inputs..., outputs..., dims, scratch), NAME_scratch and
/// NAME_supported, and how the pages of caches lie in memory. C99 that includes nothing of Rapt; the last asks the
/// compiler's CPU test, and Linux for the state of tiles, since the object itself contains no such code.
std::string writeKernelHeader(const Manifest &manifest);

/// Whether C or C++ keeps `name` for itself, so that no function or parameter can have it.
bool isCKeyword(const std::string &name);

/// One line about each kernel: "attention: kernel, reads q[queries][8][64], writes o[queries][8][64] (f32)".
std::string describeKernels(const Manifest &manifest);

/// One line about the dims of the kernels and their bounds; empty where every extent is fixed.
std::string describeKernelDims(const Manifest &manifest);

/// Sizes for all dims of the first kernel within their bounds, as rapt-bench takes them: "queries=128,keys=128"; empty
/// where it has none.
std::string exampleDims(const Manifest &manifest);

} // namespace rapt::artifact
