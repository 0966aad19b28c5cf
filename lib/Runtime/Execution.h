//===- Execution.h - How compiled code runs its dispatches ----------------===//
#pragma once
#include "lib/Runtime/Message.h"
#include "rapt/rapt.h"
#include <atomic>

namespace rapt::runtime {

class DeviceArguments;
class DeviceGraphs;
class DeviceStream;
class DeviceTimes;
class Profile;
struct ManifestEntry;

/// The rapt_env of one context: calls the executor, and checks cancels, worker ids and floating-point state.
class Execution {
public:
  /// Neither a pool nor an executor: the caller's thread runs everything. Both are checked, but of no use, for code for
  /// GPUs.
  rapt_status choose(rapt_pool *pool, const rapt_executor *executor, bool isForDevice, const Report &report);
  /// From now on entries start kernels on a GPU, whose flags are read if the code `hasFlags`.
  void useDevice(DeviceStream &on, DeviceArguments &with, DeviceGraphs &as, DeviceTimes &by, bool hasFlags) {
    stream = &on, arguments = &with, graphs = &as, times = &by, readsFlags = hasFlags;
  }
  int64_t workers() const { return workerCount; }

  /// Async-signal-safe.
  void cancel() { canceled.store(1); }
  bool isCanceled() const { return canceled.load(std::memory_order_relaxed) != 0; }
  /// Whether a cancel is pending; resets it.
  bool consumeCancel() { return canceled.exchange(0) != 0; }
  /// RAPT_CANCELLED where a cancel is pending, without resetting it. For a call that is about to succeed.
  rapt_status checkCancel(const Report &report) const {
    return isCanceled() ? report.fail(RAPT_CANCELLED, "canceled") : RAPT_OK;
  }

  /// Runs an entry. RAPT_CANCELLED when it was canceled, RAPT_INVALID when the executor broke its contract.
  /// `with`: arguments of its own on a GPU.
  rapt_status run(const ManifestEntry &entry, rapt_entry_fn code, void *const *buffers, const int64_t *dims,
                  const Report &report, DeviceArguments *with = nullptr);
  /// Waits for a GPU's work.
  rapt_status wait(const Report &report);
  /// A call's outcome, in whose message a GPU's failure is told where that is the cause.
  rapt_status cause(rapt_status status, const Report &report);

  /// The numbers of the model that are f16, for messages: outputs are checked then. Null: none are.
  const char *narrow = nullptr;
  Profile *profile = nullptr; ///< that is told of every dispatch; none: nothing is timed

private:
  struct Dispatch;
  rapt_status checkOutputs(const ManifestEntry &entry, void *const *buffers, const int64_t *dims,
                           const Report &report) const;
  static int32_t parallelFor(void *user, rapt_task_fn body, void *closure, int64_t count);
  static int32_t tensorMap(void *user, const rapt_boxes *tensor, void *map);
  static int32_t launch(void *user, const rapt_kernel *kernel, const void *arguments, int64_t blocks);
  int32_t runTimed(rapt_entry_fn code, const rapt_env &env, void *const *buffers, const int64_t *dims);
  rapt_status runOnDevice(const ManifestEntry &entry, rapt_entry_fn code, void *const *buffers, const int64_t *dims,
                          const Report &report, DeviceArguments &with);
  static void guardedTask(void *closure, int64_t begin, int64_t end, int64_t worker);

  rapt_executor executor{};
  DeviceStream *stream = nullptr; ///< null for code for CPUs
  DeviceArguments *arguments = nullptr;
  DeviceGraphs *graphs = nullptr;
  DeviceTimes *times = nullptr;
  bool readsFlags = false; ///< of kernels
  int64_t workerCount = 1;
  std::atomic<int> canceled{0};
  std::atomic<int64_t> badWorker{-1};
  static_assert(std::atomic<int>::is_always_lock_free, "cancel is called from signal handlers");
};

} // namespace rapt::runtime
