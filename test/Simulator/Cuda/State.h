//===- State.h - Objects of the simulated driver ------------------------------===//
#pragma once
#include "lib/Runtime/CudaApi.h"
#include "test/Simulator/PTX/Simulator.h"
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

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
  bool isCapturing() const { return captor != std::thread::id(); }
  std::thread::id captor; ///< the thread that captures the stream
  bool isInvalid = false; ///< something that a capture forbids was tried
  std::vector<Work> captured;
  std::deque<Work> copies;  ///< from pinned memory, which nothing has waited for yet
  uint64_t copiesDone = 0;  ///< of such copies
  Result failure = Success; ///< of earlier work; sticks
};
struct EventHandle {
  bool hasTime;
  int64_t time = -1; ///< of the device's clock; -1: not recorded
  StreamHandle *stream = nullptr;
  uint64_t copies = 0; ///< from pinned memory that the stream had before
};

/// Tests read them by raptSimulatedCounts.
struct Counts {
  uint64_t kernels = 0;        ///< started one by one
  uint64_t graphs = 0;         ///< started
  uint64_t recordedGraphs = 0; ///< made
  uint64_t hostBytes = 0;      ///< copied to the host
  int64_t liveGraphs = 0;      ///< handles of graphs
};

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
  uint64_t mostGraphs; ///< that the driver has memory for
  ptx::AsyncMode async;
  std::set<StreamHandle *> captured, copying;
  std::map<const std::byte *, size_t> pinned; ///< memory of the host, and its bytes
  uint64_t mostPinned, mostCopies;            ///< bytes that there are, and copies to the device that succeed
  Counts counts;
  int64_t clock = 0; ///< microseconds: one for each operation, of kernels one for each thread block

  State();
  ~State();
  static State &get();

  /// Whether this thread captures a stream, which forbids to allocate and to load. The capture fails then.
  bool forbidsInCapture();
  /// Does the work, or captures it.
  Result issue(Stream stream, Work work);
  void perform(StreamHandle &stream, const Work &work);
  /// A copy to the device. From pinned memory it is done when something waits for it, so that memory which changes too
  /// early is seen.
  Result issueCopy(Stream stream, const void *from, Work work);
  /// Does the first `upTo` copies of a stream that were issued.
  void finishCopies(StreamHandle &stream, uint64_t upTo = UINT64_MAX);
  void finishAllCopies();
  /// Runs a kernel; faults are printed.
  Result run(const FunctionHandle &function, const ptx::LaunchOptions &options);
};

} // namespace rapt::runtime::cuda
