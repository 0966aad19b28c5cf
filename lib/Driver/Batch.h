//===- Batch.h - Many commands in one process ---------------------------------------*- C++ -*-===//
//
// A tool's --batch reads command lines from the standard input and runs each in a child that
// begins as a copy of the tool: its libraries are loaded and linked once. Whatever a command
// does to its process stays there, as does a crash.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

namespace rapt::driver {

/// Runs a command with these arguments, the program's name not among them, and returns its exit status.
using BatchCommand = llvm::function_ref<int(const std::vector<std::string> &)>;

/// Reads lines to the end of the standard input. Words are separated by blanks; quotes and backslashes keep blanks,
/// quotes and backslashes, and there are no empty words. Each line is answered at its end by a line of JSON on the
/// standard output: {"line": its number from 1 on, "status": exit status, "stdout": ..., "stderr": ...}. The status of
/// a command that a signal ends is 128 + its number; a line whose words cannot be read has 2 and a message in stderr.
/// A command reads nothing from its standard input.
///
/// Returns 0 when every line has its answer, whatever that is, else 1 with a message on stderr. `tool` is the name in
/// messages. To be called while the process has no other thread.
int runBatch(const char *tool, BatchCommand run);

} // namespace rapt::driver
