//===- Reproducer.cpp - The folder that a bug of the compiler leaves behind --------------------===//
#include "lib/Driver/Reproducer.h"
#include "lib/Artifact/StagedFile.h"
#include "lib/Driver/Compile.h"
#include "lib/Support/Progress.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

namespace {

thread_local const Step *current = nullptr; ///< a plain pointer, which a signal handler may read
char prefix[PATH_MAX];                      ///< of the folder's path, up to the number

/// Text in memory that a signal handler may use.
class Line {
public:
  Line &operator<<(const char *part) {
    while (*part && used + 1 < sizeof text)
      text[used++] = *part++;
    text[used] = 0;
    return *this;
  }
  Line &operator<<(unsigned number) {
    char digits[12];
    char *end = digits + sizeof digits - 1;
    *end = 0;
    do
      *--end = char('0' + number % 10);
    while (number /= 10);
    return *this << end;
  }
  const char *get() const { return text; }
  size_t size() const { return used; }

private:
  char text[3 * PATH_MAX] = {};
  size_t used = 0;
};

bool writeAll(int file, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = write(file, data, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    data += put;
    size -= size_t(put);
  }
  return true;
}

/// Makes the folder with the text in it and appends the advice. Async-signal-safe.
void leave(Line &advice) {
  if (!current || current->text.empty() || !prefix[0])
    return;
  Line folder;
  unsigned number = 0;
  do {
    folder = Line();
    folder << prefix << number;
    if (mkdir(folder.get(), 0700) == 0)
      break;
  } while (errno == EEXIST && ++number < 100);
  Line path;
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

/// Set while growStack() works, whose SIGSEGV means that memory is missing.
volatile sig_atomic_t isGrowingStack = 0;

/// Takes the memory of the stack that compilations need, since a stack that cannot grow later ends in SIGSEGV.
[[gnu::noinline]] void growStack() {
  isGrowingStack = 1;
  volatile char stack[512 << 10];
  for (size_t i = sizeof stack; i > 0; i -= 4096)
    stack[i - 1] = 0;
  isGrowingStack = 0;
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

/// Whether no memory is left that a thread's arena would fit into: where the allocator cannot make one, it ends in
/// SIGSEGV.
bool isMemoryGone() {
  constexpr size_t size = 8 << 20;
  void *probe = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED)
    return true;
  munmap(probe, size);
  return false;
}

void onCrash(int number) {
  if (isGrowingStack || (number == SIGSEGV && isMemoryGone()))
    reportNoMemory();
  becomeReporter();
  Line line;
  line << "raptc: error: internal error: " << nameOf(number);
  if (current && !current->doing.empty())
    line << " while " << current->doing.c_str();
  leave(line);
  line << "\n";
  Progress::eraseForSignal();
  writeAll(STDERR_FILENO, line.get(), line.size());
  _exit(Bug);
}

} // namespace

void driver::reportNoMemory() {
  becomeReporter();
  Line line;
  line << "raptc: error: out of memory";
  if (current && !current->doing.empty())
    line << " while " << current->doing.c_str();
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    line << ": " << unsigned(usage.ru_maxrss / 1024) << " MB are in use";
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    line << ", and this process may have " << unsigned(limit.rlim_cur >> 20) << " MB of addresses (ulimit -v)";
  line << "\n";
  Progress::eraseForSignal();
  writeAll(STDERR_FILENO, line.get(), line.size());
  _exit(WrongInput);
}

std::string driver::reproducerText(const std::string &module, const std::string &pipeline) {
  std::string escaped;
  for (char c : pipeline)
    escaped += c == '"' ? "\\22" : c == '\\' ? "\\\\" : std::string(1, c);
  return module + "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: \"" + escaped +
         "\",\n      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n";
}

void driver::enterStep(const Step &step) { current = &step; }

std::string driver::leaveReproducer() {
  Line line;
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
  Line start;
  start << (folder && folder[0] ? folder : "/tmp") << "/raptc-bug-" << unsigned(getpid()) << "-";
  if (start.size() < sizeof prefix - 32)
    memcpy(prefix, start.get(), start.size() + 1);
  reportCrashesOfThread();
  std::set_new_handler(reportNoMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { reportNoMemory(); });
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action = {};
    action.sa_handler = onCrash;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
  growStack();
}
