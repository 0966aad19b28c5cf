//===- Execution.h - How compiled code runs its dispatches ----------------===//
#pragma once
#include "lib/Runtime/Message.h"
#include "rapt/rapt.h"
#include <atomic>

namespace rapt::runtime {

class Profile;

/// The rapt_env of one context: calls the executor, and checks cancels, worker ids and floating-point state.
class Execution {
public:
  /// Neither a pool nor an executor: the caller's thread runs everything.
  rapt_status choose(rapt_pool *pool, const rapt_executor *executor, const Report &report);
  int64_t workers() const { return workerCount; }

  /// Async-signal-safe.
  void cancel() { canceled.store(1); }
  bool isCanceled() const { return canceled.load(std::memory_order_relaxed) != 0; }
  /// Whether a cancel is pending; resets it.
  bool takeCancel() { return canceled.exchange(0) != 0; }
  /// RAPT_CANCELLED where a cancel is pending, without resetting it. For a call that is about to succeed.
  rapt_status checkCancel(const Report &report) const {
    return isCanceled() ? report.fail(RAPT_CANCELLED, "canceled") : RAPT_OK;
  }

  /// Runs an entry. RAPT_CANCELLED when it was canceled, RAPT_INVALID when the executor broke its contract.
  rapt_status run(rapt_entry_fn entry, void *const *buffers, const int64_t *dims, const Report &report);

  Profile *profile = nullptr; ///< that is told of every dispatch; none: nothing is timed

private:
  struct Dispatch;
  static int32_t parallelFor(void *user, rapt_task_fn body, void *closure, int64_t count);
  static void guardedTask(void *closure, int64_t begin, int64_t end, int64_t worker);

  rapt_executor executor{};
  int64_t workerCount = 1;
  std::atomic<int> canceled{0};
  std::atomic<int64_t> badWorker{-1};
  static_assert(std::atomic<int>::is_always_lock_free, "cancel is called from signal handlers");
};

} // namespace rapt::runtime
