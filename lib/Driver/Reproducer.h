//===- Reproducer.h - The folder that a bug of the compiler leaves behind -----------------*- C++ -*-===//
//
// Before each stage a thread of the compiler notes the IR that it begins with. When the
// stage fails without the input's fault, or crashes, that IR is written into a folder of
// its own. The text is made ahead, so that a signal handler has only to write it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <string>

namespace rapt::driver {

/// The stage that the compiler begins.
struct Step {
  std::string doing;         ///< "lowering to the stage tiled", for the message
  std::string text;          ///< module.mlir of the folder; empty: nothing to leave
  std::string before, after; ///< the command that shows it again is before + FOLDER/module.mlir + after
};

/// The IR followed by the resource from which `rapt-opt --run-reproducer` reads the passes to run.
std::string reproducerText(const std::string &module, const std::string &pipeline);

/// Sets the step of this thread, which must live until the next call.
void enterStep(const Step &step);

/// Creates raptc-bug-PID-N in $TMPDIR, else /tmp, and writes module.mlir. Returns the rest of a message about it: where
/// it is and the command that shows it again. Empty when there is nothing, or no place for it.
std::string leaveReproducer();

/// Needed by each further thread whose stack may overflow.
void reportCrashesOfThread();

/// From now on a signal that means a bug (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT; also by a full stack) removes
/// temporary files, leaves the reproducer, tells so in one line and ends the process with exit status 3. Memory that
/// the system does not give is no bug: then a line says what was going on and how much is in use, and the status is 1.
void reportCrashes();

} // namespace rapt::driver
