//===- Start.cpp - Steps of every tool before main() -----------------------------------------===//
//
// A file that is opened where a standard stream is closed would become that stream: what
// is written to it would go into the file. So each closed one is taken here, in a mode in
// which its use fails as that of a closed one does.
//
// Memory that the system does not give is no bug: it is told in one line, also of the
// static objects that libraries make before main().
//
//===----------------------------------------------------------------------===//
#include "lib/Support/NoMemory.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <initializer_list>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace {

void takeClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the lowest number that is free
}

[[noreturn]] void endWithoutMemory() {
  static std::atomic_flag isTold;
  while (isTold.test_and_set()) // by another thread, which ends the process
    pause();
  rapt::noMemoryText(RAPT_TOOL, "").writeTo(STDERR_FILENO);
  _exit(1);
}

/// A call that makes all pages takes a tenth of what a fault for each does.
[[gnu::noinline]] void touchStack() {
  constexpr size_t page = 4096;
  alignas(page) volatile char stack[512 << 10];
  stack[0] = 0; // the stack grows to here
#ifdef MADV_POPULATE_WRITE
  if (madvise(const_cast<char *>(stack), sizeof stack, MADV_POPULATE_WRITE) == 0)
    return;
#endif
  for (size_t i = sizeof stack; i > 0; i -= page)
    stack[i - 1] = 0;
}

/// Takes the memory of the stack that tools need, since a stack that cannot grow later ends in SIGSEGV.
void growStack() {
  static char memory[1 << 16]; // the stack of the handler
  stack_t own = {}, before;
  own.ss_sp = memory;
  own.ss_size = sizeof memory;
  struct sigaction action = {}, old;
  action.sa_handler = [](int) { endWithoutMemory(); };
  action.sa_flags = SA_ONSTACK;
  sigaltstack(&own, &before);
  sigaction(SIGSEGV, &action, &old);
  touchStack();
  sigaction(SIGSEGV, &old, nullptr);
  sigaltstack(&before, nullptr);
}

void start() {
  takeClosedStreams();
  rapt::setNoMemoryHandler(endWithoutMemory);
  std::set_new_handler(rapt::reportNoMemory);
  growStack();
  // Constructors of libraries, and the first steps of an allocator, crash where they get none.
  if (!rapt::hasMemory(size_t(RAPT_START_MEGABYTES) << 20))
    endWithoutMemory();
}

} // namespace

// Ahead of the constructors of libraries, which may open files and take memory.
[[gnu::section(".preinit_array"), gnu::used]] static void (*const atStart)() = start;
