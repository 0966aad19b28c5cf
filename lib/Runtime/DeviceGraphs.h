//===- DeviceGraphs.h - Kernels of an entry as CUDA graphs ------------------------===//
//
// The host program of code for GPUs reads no buffer: which kernels it starts, and with which
// arguments, follows from its dims and its buffers' addresses. Steps of decoding repeat both,
// as lengths and tokens are in the GPU's memory. So the kernels of such a run are recorded
// once, and later runs start all of them by one call.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/DeviceStream.h"
#include "lib/Runtime/Manifest.h"

namespace rapt::runtime {

/// The graphs of one context, on its own stream.
class DeviceGraphs {
public:
  DeviceGraphs(DeviceStream &stream, rapt_log_fn log, void *user) : stream(stream), log(log), user(user) {}
  DeviceGraphs(const DeviceGraphs &) = delete;
  DeviceGraphs &operator=(const DeviceGraphs &) = delete;
  ~DeviceGraphs();

  /// Memory for the runs of these entries. False when there is none.
  [[nodiscard]] bool reserve(const std::vector<ManifestEntry> &entries, const Allocator &memory);

  /// Starts the kernels of an entry. The first run with its dims and addresses calls the entry, which makes the driver
  /// load every kernel; the second one records it, and the others start the graph. Returns what the entry returned, or
  /// 0.
  int32_t run(const ManifestEntry &entry, rapt_entry_fn code, const rapt_env &env, void *const *buffers,
              const int64_t *dims);

private:
  /// Runs that are remembered, the least recent one of which is forgotten for another: sequences that join and leave
  /// change the rows of a step.
  static constexpr size_t mostRuns = 8;
  struct Known {
    cuda::GraphExec graph;
    uint64_t lastUse; ///< 0: never
  };
  int64_t *keyOf(size_t slot) { return &keys[slot * words]; }
  /// The run's slot, which is a new one where `isNew`.
  size_t find(bool &isNew);
  /// Makes the graph of a slot. Returns what the entry returned.
  int32_t record(Known &slot, rapt_entry_fn code, const rapt_env &env, void *const *buffers, const int64_t *dims);
  void end(Known &slot);

  DeviceStream &stream;
  rapt_log_fn log;
  void *user;
  size_t words = 0;    ///< of a key: code, addresses and dims
  Array<int64_t> keys; ///< of each slot, and that of the present run
  Known known[mostRuns] = {};
  uint64_t uses = 0;
  bool isRefused = false; ///< the driver makes no graph: kernels are started one by one
};

} // namespace rapt::runtime
