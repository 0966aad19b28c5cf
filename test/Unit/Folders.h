//===- Folders.h - Where the checkout and the build lie ---------------------===//
//
// Known to one object file alone: the others come from a compiler cache whatever the
// checkout's path.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <string>

namespace rapt::test {

/// `part` of the checkout: "/test/Image/data".
std::string inSource(const std::string &part);
/// `part` of the build folder.
std::string inBuild(const std::string &part);

} // namespace rapt::test
