//===- Process.h - Work that may crash, in a process of its own --------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <string>
#include <vector>

namespace survive {

struct Ending {
  int signal = 0;     // that ended the process; 0 if none did
  int status = 0;     // its exit status
  std::string errors; // what it wrote to the standard error
};

/// Runs `work` in a copy of this process, whose exit status it returns. It is killed after `seconds` of processor time.
Ending runApart(unsigned seconds, llvm::function_ref<int()> work);

/// Runs `work` for 0, 1, ... in one copy of this process and returns what it returned, for as many of `steps` as the
/// copy survived. A step that takes `seconds` of processor time ends it. What it writes to the standard error is lost.
std::vector<uint8_t> runInTurn(unsigned seconds, unsigned steps, llvm::function_ref<int(unsigned nth)> work);

} // namespace survive
