//===- main.cpp - Kills a command at one of its system calls -----------------------------------===//
//
// kill-at-call REPORT [--before=K | --after=K] [--changes] COMMAND...
//
// Runs the command and kills it, with all its threads and child processes, where one of them enters the K-th system
// call or has just come back from it. The calls of all threads count, from 1; with --changes those alone that may
// change files. The file REPORT gets one line: "calls N changes M killed NAME", NAME the call, "-" for one that changes
// no file; or "calls N changes M status S" of a command that ends by itself.
//
//===----------------------------------------------------------------------------------------------===//
#include "Call.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Request {
  const char *report = nullptr;
  uint64_t at = 0; ///< 0: nothing is killed
  bool after = false, onlyChanges = false;
  char **command = nullptr;
};

[[noreturn]] void fail(const char *what) {
  fprintf(stderr, "kill-at-call: %s: %s\n", what, strerror(errno));
  exit(125);
}

/// The command, as its system calls show it.
class Traced {
public:
  explicit Traced(const Request &request) : request(request) {}
  /// Runs it to its end; the exit status, 128 and the signal's number for one that a signal ended.
  int run();
  std::string report() const;

private:
  void begin();
  void stopped(pid_t thread, int status);
  void enter(pid_t thread, const __ptrace_syscall_info &info);
  void leave(pid_t thread);
  void kill(const char *name);

  const Request &request;
  uint64_t calls = 0, changes = 0;
  pid_t first = 0;
  int status = 0;
  bool counts = false;                   ///< the command has begun: what comes before is this program's
  std::map<pid_t, const char *> threads; ///< which live, with the call that they are to be killed after
  const char *killed = nullptr;          ///< the call where it was
};

void Traced::begin() {
  int ends[2];
  if (pipe(ends) != 0)
    fail("pipe");
  first = fork();
  if (first < 0)
    fail("fork");
  if (first == 0) {
    char go;
    close(ends[1]);
    if (read(ends[0], &go, 1) != 1)
      _exit(125);
    close(ends[0]);
    execvp(request.command[0], request.command);
    fail(request.command[0]);
  }
  constexpr long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                           PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SEIZE, first, nullptr, options) != 0)
    fail("ptrace");
  threads[first] = nullptr;
  close(ends[0]);
  if (write(ends[1], "", 1) != 1)
    fail("write");
  close(ends[1]);
}

void Traced::kill(const char *name) {
  killed = name ? name : "-";
  for (const auto &[thread, call] : threads)
    ::kill(thread, SIGKILL);
}

void Traced::enter(pid_t thread, const __ptrace_syscall_info &info) {
  const char *change = kills::changeOf(info.entry.nr, info.entry.args);
  ++calls;
  changes += change != nullptr;
  if ((request.onlyChanges && !change) || (request.onlyChanges ? changes : calls) != request.at)
    return;
  if (request.after)
    threads[thread] = change ? change : "-";
  else
    kill(change);
}

void Traced::leave(pid_t thread) {
  if (const char *&call = threads[thread]) {
    kill(call);
    call = nullptr;
  }
}

void Traced::stopped(pid_t thread, int state) {
  threads.try_emplace(thread);
  const int number = WSTOPSIG(state), event = state >> 16;
  int deliver = 0;
  if (number == (SIGTRAP | 0x80)) {
    __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 && counts && !killed) {
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        enter(thread, info);
      else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        leave(thread);
    }
  } else if (event == PTRACE_EVENT_EXEC) {
    counts = true;
  } else if (event == 0) {
    deliver = number;
  }
  ptrace(PTRACE_SYSCALL, thread, nullptr, deliver); // fails for a thread that is killed meanwhile
}

int Traced::run() {
  begin();
  for (int state;;) {
    const pid_t thread = waitpid(-1, &state, __WALL);
    if (thread < 0 && errno == EINTR)
      continue;
    if (thread < 0)
      return status;
    if (WIFSTOPPED(state)) {
      stopped(thread, state);
      continue;
    }
    threads.erase(thread);
    if (thread == first)
      status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }
}

std::string Traced::report() const {
  return "calls " + std::to_string(calls) + " changes " + std::to_string(changes) +
         (killed ? " killed " + std::string(killed) : " status " + std::to_string(status)) + "\n";
}

Request parse(int argc, char **argv) {
  Request request;
  int at = 2;
  for (; at < argc && std::string_view(argv[at]).starts_with("--"); ++at) {
    const std::string_view option = argv[at];
    const size_t equals = option.find('=');
    request.onlyChanges |= option == "--changes";
    if (equals != std::string_view::npos)
      request.at = strtoull(argv[at] + equals + 1, nullptr, 10);
    request.after |= option.starts_with("--after=");
  }
  if (at >= argc) {
    fprintf(stderr, "usage: kill-at-call REPORT [--before=K | --after=K] [--changes] COMMAND...\n");
    exit(2);
  }
  request.report = argv[1];
  request.command = argv + at;
  return request;
}

} // namespace

int main(int argc, char **argv) {
  const Request request = parse(argc, argv);
  Traced traced(request);
  const int status = traced.run();
  FILE *file = fopen(request.report, "w");
  if (!file || fputs(traced.report().c_str(), file) < 0 || fclose(file) != 0)
    fail(request.report);
  return status;
}
