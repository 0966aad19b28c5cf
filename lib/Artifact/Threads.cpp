//===- Threads.cpp - A few threads over an index range -------------------------===//
#include "lib/Artifact/Threads.h"
#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace rapt::artifact {

unsigned threadCount(unsigned wanted) {
  if (wanted > 0)
    return std::min(wanted, 256u);
  cpu_set_t set;
  const int available =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : int(std::thread::hardware_concurrency());
  return unsigned(std::clamp(available, 1, 8));
}

namespace {
struct Task {
  const std::function<void(unsigned)> *body;
  unsigned thread;
};
} // namespace

void runOnThreads(unsigned threads, const std::function<void(unsigned)> &body) {
  std::vector<Task> tasks;
  for (unsigned thread = 0; thread < threads; ++thread)
    tasks.push_back({&body, thread});
  // pthread_create and not std::thread, which ends the program when the system refuses.
  std::vector<pthread_t> running;
  for (unsigned thread = 1; thread < threads; ++thread) {
    pthread_t handle;
    auto start = [](void *task) -> void * {
      (*static_cast<Task *>(task)->body)(static_cast<Task *>(task)->thread);
      return nullptr;
    };
    if (pthread_create(&handle, nullptr, start, &tasks[thread]) != 0)
      break;
    running.push_back(handle);
  }
  body(0);
  for (pthread_t handle : running)
    pthread_join(handle, nullptr);
}

} // namespace rapt::artifact
