//===- Compile.h - The work of raptc ------------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Driver/Options.h"

namespace rapt::driver {

/// Exit statuses of raptc.
enum ExitStatus { Success = 0, WrongInput = 1, WrongUsage = 2, Bug = 3 };

/// Compiles as `options` say. Everything for the user goes to stderr, text stages without an output to stdout. Returns
/// the exit status; outputs exist whole or not at all. `tool` is the running program's path. With `endsProcess` the
/// process ends behind it, with memory that is still taken: at most one such call.
ExitStatus compile(const Options &options, const std::string &tool, bool endsProcess);

/// The output of --list-families and --mcpu=help: one name per line. cpuNames fails for a triple that is not supported.
std::string familyNames();
Expected<std::string> cpuNames(const Options &options);

} // namespace rapt::driver
