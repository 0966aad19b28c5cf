//===- Variant.h - The code of a model for one kind of processor -----------------===//
//
// A library has one variant or several. The compiler and rapt-run both tell which
// processors can run it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace rapt {

struct Variant {
  std::string name;                  ///< "x86-64-v3"
  std::vector<std::string> features; ///< LLVM's names, sorted
};

/// "target: x86_64, x86-64-v3: runs only on CPUs with avx, ...". `here` is the variant that this machine runs, or
/// empty; the compiler, whose native code is for this machine's CPU, passes none. Without `everyFeature` the line has
/// no names of features.
std::string targetLine(const std::string &arch, const std::vector<Variant> &variants,
                       const std::optional<std::string> &here, bool everyFeature = true);

} // namespace rapt
