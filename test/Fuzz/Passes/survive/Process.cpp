//===- Process.cpp - Work that may crash, in a process of its own ----------------------------===//
#include "Process.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace survive;

static constexpr size_t kMostErrors = 64 * 1024;

/// Processor time, so that a busy machine makes no fault; the alarm is for a process that waits.
static void limitTime(unsigned seconds) {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const rlim_t end = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + seconds;
  rlimit limit;
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = end;
  setrlimit(RLIMIT_CPU, &limit);
  alarm(20 * seconds);
}

/// Runs `work` in a process of its own, with the writing end of a pipe; returns the process and the reading end.
static std::pair<pid_t, int> start(llvm::function_ref<int(int end)> work) {
  int ends[2];
  fflush(stdout);
  if (pipe(ends))
    abort();
  const pid_t child = fork();
  if (child < 0)
    abort();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGABRT, SIG_DFL);
    close(ends[0]);
    _exit(work(ends[1]));
  }
  close(ends[1]);
  return {child, ends[0]};
}

Ending survive::runApart(unsigned seconds, llvm::function_ref<int()> work) {
  const auto [child, errors] = start([&](int end) {
    dup2(end, STDERR_FILENO);
    close(end);
    limitTime(seconds);
    return work();
  });
  Ending ending;
  char buffer[4096];
  for (ssize_t count; (count = read(errors, buffer, sizeof buffer)) > 0;)
    if (ending.errors.size() < kMostErrors)
      ending.errors.append(buffer, count);
  close(errors);
  int state = 0;
  waitpid(child, &state, 0);
  ending.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  ending.status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  return ending;
}

std::vector<uint8_t> survive::runInTurn(unsigned seconds, unsigned steps, llvm::function_ref<int(unsigned nth)> work) {
  const auto [child, statuses] = start([&](int end) {
    if (!freopen("/dev/null", "w", stderr))
      abort();
    for (unsigned nth = 0; nth < steps; ++nth) {
      limitTime(seconds);
      const uint8_t status = work(nth);
      if (write(end, &status, 1) != 1)
        abort();
    }
    return 0;
  });
  std::vector<uint8_t> found;
  for (uint8_t status; read(statuses, &status, 1) == 1;)
    found.push_back(status);
  close(statuses);
  waitpid(child, nullptr, 0);
  return found;
}
