//===- OldWeights.h - The weight file of a library that was replaced -----------------------*- C++ -*-===//
//
// A compilation replaces its library and removes the weight file that only the replaced
// one named. Objects, copies of the library and programs beside it may name the same file.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/CommandFiles.h"
#include <string>

namespace rapt::driver {

/// The weight file that the library or object at `path` names, when it is one of BASE-<id8>.weights; else empty.
std::string weightsNamedBy(const std::string &path, const std::string &base);

/// A file of `folder` that may need its weight file `name`: an ELF file or an archive that holds the name, or that
/// cannot be read. Empty where there is none.
std::string findUserOf(const std::string &folder, const std::string &name);

} // namespace rapt::driver
