//===- Folders.cpp - Where the checkout and the build lie ------------------------------===//
#include "test/Unit/Folders.h"

std::string rapt::test::inSource(const std::string &part) { return RAPT_SOURCE_FOLDER + part; }
std::string rapt::test::inBuild(const std::string &part) { return RAPT_BUILD_FOLDER + part; }
