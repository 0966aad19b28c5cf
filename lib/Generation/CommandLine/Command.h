//===- Command.h - Frame of every long command -----------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Model.h"

namespace rapt::run {

/// Prepares `command`, runs it and has it print what it found: the exit status, which is that of Ctrl-C where one ended
/// the run. Tells what fails.
template <typename Command> int perform(Command &command) {
  Outcome outcome = command.prepare();
  if (outcome)
    outcome = command.run();
  if (outcome.status == RAPT_CANCELLED && Interrupts::caught())
    return Interrupts::caught();
  if (!outcome)
    return fail(outcome.message, Failure(outcome).code);
  Status status = command.finish();
  return status ? 0 : fail(status.error().message);
}

} // namespace rapt::run
