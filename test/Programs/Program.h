//===- Program.h - A random series of calls of the runtime's API ------------------===//
//
// A program is a list of calls whose numbers are resolved when it runs (the
// third of the sequences that live then), so that any part of a program is one.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::programs {

enum class Kind : uint8_t {
  New,
  Free,
  Fork,
  Truncate,
  Step,
  WrongStep,
  Save,
  Cancel,
  Encode,
  NoMemory,
  Forward,
  Profile
};
inline constexpr int kinds = 12;

struct Call {
  Kind kind;
  uint32_t numbers[4];
};

struct Program {
  uint64_t seed; ///< of the context's options
  std::vector<Call> calls;
};

Program makeProgram(uint64_t seed);

/// One line a call.
std::string show(const Program &program);

/// Runs the program on a compiled model and ends the process where a promise is broken.
void execute(const std::string &library, const Program &program, bool verbose);

/// The same from several threads at once: each has a context of its own, all share the module and a pool.
void executeTogether(const std::string &library, const std::vector<Program> &programs);

} // namespace rapt::programs
