//===- Options.h - rapt-reference's command line -------------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Run.h"
#include <optional>

namespace rapt::reference {

struct Options {
  Request request;
  std::optional<uint64_t> seed; ///< of --random-weights
  bool help = false, version = false;
};

/// Parses argv[1..]. An error is a wrong use of the tool (exit 2).
Expected<Options> parseOptions(int argc, const char *const *argv);

/// The text of --help.
std::string helpText();

} // namespace rapt::reference
