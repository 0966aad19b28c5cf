//===- Batch.h - Many commands in one process ---------------------------------------*- C++ -*-===//
//
// A tool's --batch reads command lines from the standard input and runs each, with its libraries
// loaded and linked once.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

namespace rapt::driver {

/// Runs a command with these arguments, the program's name not among them, and returns its exit status.
using BatchCommand = llvm::function_ref<int(const std::vector<std::string> &)>;

/// Where a line runs.
enum class BatchPlace {
  Child, ///< a copy of the tool: whatever a command does to its process stays there, as does a crash
  Here,  ///< the tool's own process, at a fraction of the cost: a crash is the end of the batch
};

/// Reads lines to the end of the standard input. Words are separated by blanks; quotes and backslashes keep blanks,
/// quotes and backslashes, and there are no empty words. Each line is answered at its end by a line of JSON on the
/// standard output: {"line": its number from 1 on, "status": exit status, "stdout": ..., "stderr": ...}. The status of
/// a command that a signal ends is 128 + its number; a line whose words cannot be read has 2 and a message in stderr.
/// A command reads nothing from its standard input.
///
/// Returns 0 when every line has its answer, whatever that is, else 1 with a message on stderr. `tool` is the name in
/// messages. To be called while the process has no other thread.
int runBatch(const char *tool, BatchPlace place, BatchCommand run);

} // namespace rapt::driver
