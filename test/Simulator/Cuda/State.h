//===- State.h - Objects of the simulated driver ------------------------------===//
#pragma once
#include "lib/Runtime/CudaApi.h"
#include "test/Simulator/PTX/Simulator.h"
#include <functional>
#include <mutex>
#include <set>

namespace rapt::runtime::cuda {

// The handles that the driver's functions take.
struct ContextHandle {
  int users = 0;
};
struct FunctionHandle {
  ModuleHandle *module;
  const ptx::Kernel *kernel;
  uint32_t mostDynamicSharedBytes = 48 * 1024;
};
struct ModuleHandle {
  std::unique_ptr<ptx::LoadedModule> loaded;
  std::vector<std::unique_ptr<FunctionHandle>> functions;
};
/// One operation of a stream.
using Work = std::function<Result()>;
struct GraphHandle {
  std::vector<Work> work;
};
struct GraphExecHandle {
  std::vector<Work> work;
};
struct StreamHandle {
  bool isCapturing = false;
  std::vector<Work> captured;
  Result failure = Success; ///< of earlier work; sticks
};
struct EventHandle {};

/// The one simulated device, and all objects of a process.
struct State {
  std::mutex mutex;
  bool isInitialized = false;
  ptx::Simulator simulator;
  ContextHandle context;
  std::vector<ContextHandle *> current;
  std::set<std::unique_ptr<ModuleHandle>> modules;
  StreamHandle defaultStream;
  uint64_t memory, devices, arch, version, seed;
  ptx::AsyncMode async;

  State();
  static State &get();

  /// Does the work, or captures it.
  Result issue(Stream stream, Work work);
  /// Runs a kernel; faults are printed.
  Result run(const FunctionHandle &function, const ptx::LaunchOptions &options);
};

} // namespace rapt::runtime::cuda
