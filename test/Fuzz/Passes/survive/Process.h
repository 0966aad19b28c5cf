//===- Process.h - Work that may crash, in a process of its own --------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace survive {

struct Ending {
  int signal = 0;     // that ended the process; 0 if none did
  int status = 0;     // its exit status
  std::string errors; // what it wrote to the standard error
};

/// Runs `work` in a copy of this process, whose exit status it returns. It is killed after `seconds` of processor time.
Ending runApart(unsigned seconds, llvm::function_ref<int()> work);

} // namespace survive
