//===- Options.h - rapt-reference's command line -------------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Run.h"
#include <optional>

namespace rapt::reference {

struct Options {
  Request request;
  std::optional<uint64_t> seed; ///< of --random-weights
  // Of text that is generated:
  std::optional<std::vector<int32_t>> tokens; ///< the prompt as ids
  std::optional<int64_t> maxNewTokens, beams;
  std::optional<std::string> adapter;
  bool batch = false, help = false, version = false;
};

/// Parses argv[1..]. An error is a wrong use of the tool (exit 2).
Expected<Options> parseOptions(int argc, const char *const *argv);

/// The text of --help.
std::string helpText();

} // namespace rapt::reference
