//===- Reproducer.cpp - The folder that a bug of the compiler leaves behind --------------------===//
#include "lib/Driver/Reproducer.h"
#include "lib/Artifact/StagedFile.h"
#include "lib/Driver/Compile.h"
#include "lib/Support/NoMemory.h"
#include "lib/Support/Progress.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

namespace {

thread_local const Step *current = nullptr; ///< a plain pointer, which a signal handler may read
char prefix[PATH_MAX];                      ///< of the folder's path, up to the number

/// Makes the folder with the text in it and appends the advice. Async-signal-safe.
void leave(SignalText &advice) {
  if (!current || current->text.empty() || !prefix[0])
    return;
  SignalText folder;
  unsigned number = 0;
  do {
    folder = SignalText();
    folder << prefix << number;
    if (mkdir(folder.get(), 0700) == 0)
      break;
  } while (errno == EEXIST && ++number < 100);
  SignalText path;
  path << folder.get() << "/module.mlir";
  int file = open(path.get(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  bool whole = writeAll(file, current->text.data(), current->text.size());
  if (close(file) != 0 || !whole) {
    unlink(path.get());
    rmdir(folder.get());
    return;
  }
  advice << "; the module is in " << folder.get() << ", this shows it again: " << current->before.c_str() << path.get()
         << current->after.c_str();
}

const char *nameOf(int number) {
  switch (number) {
  case SIGSEGV:
    return "SIGSEGV";
  case SIGBUS:
    return "SIGBUS";
  case SIGILL:
    return "SIGILL";
  case SIGFPE:
    return "SIGFPE";
  default:
    return "SIGABRT";
  }
}

/// Waits for good unless this thread is the first that reports: one message is printed, which ends the process. A
/// thread that crashes while it reports ends the process at once.
void becomeReporter() {
  static std::atomic_flag taken;
  static thread_local bool isReporting = false;
  if (isReporting)
    _exit(Bug);
  isReporting = true;
  while (taken.test_and_set())
    pause();
  TemporaryFile::discardAll();
}

[[noreturn]] void endWithoutMemory() {
  becomeReporter();
  const SignalText line = noMemoryText("raptc", current ? current->doing.c_str() : "");
  Progress::eraseForSignal();
  line.writeTo(STDERR_FILENO);
  _exit(WrongInput);
}

void onCrash(int number) {
  if (number == SIGSEGV && !hasMemory(8 << 20)) // an arena of the allocator
    endWithoutMemory();
  becomeReporter();
  SignalText line;
  line << "raptc: error: internal error: " << nameOf(number);
  if (current && !current->doing.empty())
    line << " while " << current->doing.c_str();
  leave(line);
  line << "\n";
  Progress::eraseForSignal();
  line.writeTo(STDERR_FILENO);
  _exit(Bug);
}

} // namespace

std::string driver::reproducerText(const std::string &module, const std::string &pipeline) {
  std::string escaped;
  for (char c : pipeline)
    escaped += c == '"' ? "\\22" : c == '\\' ? "\\\\" : std::string(1, c);
  return module + "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: \"" + escaped +
         "\",\n      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n";
}

void driver::enterStep(const Step &step) { current = &step; }

std::string driver::leaveReproducer() {
  SignalText line;
  leave(line);
  return line.get();
}

void driver::reportCrashesOfThread() {
  // A handler on the stack that has overflowed could not run.
  thread_local char memory[1 << 16];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
}

void driver::reportCrashes() {
  const char *folder = getenv("TMPDIR");
  SignalText start;
  start << (folder && folder[0] ? folder : "/tmp") << "/raptc-bug-" << unsigned(getpid()) << "-";
  if (start.size() < sizeof prefix - 32)
    memcpy(prefix, start.get(), start.size() + 1);
  reportCrashesOfThread();
  setNoMemoryHandler(endWithoutMemory);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action = {};
    action.sa_handler = onCrash;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
}
