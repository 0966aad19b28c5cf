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

Ending survive::runApart(unsigned seconds, llvm::function_ref<int()> work) {
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
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    // Processor time, so that a busy machine makes no fault; the alarm is for a process that waits.
    const rlimit limit{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    alarm(20 * seconds);
    _exit(work());
  }
  close(ends[1]);
  Ending ending;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    if (ending.errors.size() < kMostErrors)
      ending.errors.append(buffer, count);
  close(ends[0]);
  int state = 0;
  waitpid(child, &state, 0);
  ending.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  ending.status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  return ending;
}
