//===- Simulator.h - Runs PTX kernels without a GPU --------------------------===//
//
// A functional simulator of what the compiler emits for NVIDIA GPUs (sm_80 to sm_90a): it
// computes what the kernel computes, tells faults that hardware does not, and knows
// nothing of time. Thread blocks run one after the other.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "test/Simulator/PTX/Block.h"

namespace rapt::ptx {

/// A module whose variables lie in device memory.
struct LoadedModule {
  Module module;
  std::vector<uint64_t> variableAddresses; ///< of global and constant variables
};

class Simulator {
public:
  Simulator() : memory(log) {}

  /// Parses a module and puts its variables into device memory.
  Expected<std::unique_ptr<LoadedModule>> load(std::string_view ptx);

  /// Runs a kernel. An error is a launch that the driver would refuse; what the kernel does wrong goes to `findings`.
  Status launch(const LoadedModule &module, std::string_view kernel, const LaunchOptions &options, Findings &findings);

  GlobalMemory &global() { return memory; }

private:
  AccessLog log;
  GlobalMemory memory;
};

} // namespace rapt::ptx
