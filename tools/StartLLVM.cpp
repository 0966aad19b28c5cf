//===- StartLLVM.cpp - Failures of LLVM end a tool with a message ---------------------------===//
//
// MLIR and LLVM use the results of malloc, calloc and realloc unchecked in many places.
// The linker's option --wrap directs their calls here. Where operator new fails it calls
// a handler itself (Start.cpp, or LLVM's own, which leads to the one below).
//
//===----------------------------------------------------------------------===//
#include "lib/Support/NoMemory.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <unistd.h>

extern "C" {
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  void *memory = __real_malloc(bytes);
  if (!memory && bytes)
    rapt::reportNoMemory();
  return memory;
}

void *__wrap_calloc(size_t count, size_t bytes) {
  void *memory = __real_calloc(count, bytes);
  if (!memory && count && bytes)
    rapt::reportNoMemory();
  return memory;
}

void *__wrap_realloc(void *old, size_t bytes) {
  void *memory = __real_realloc(old, bytes);
  if (!memory && bytes)
    rapt::reportNoMemory();
  return memory;
}
}

constexpr size_t kStack = 8 << 20; // of a thread, or an arena of the allocator

/// LLVM's command lines end with such an error where the standard output is full, for example: it is told as others
/// are.
static void reportFatalError(void *, const char *reason, bool isBug) {
  if (!rapt::hasMemory(kStack))
    rapt::reportNoMemory();
  (rapt::SignalText() << RAPT_TOOL ": error: " << reason << "\n").writeTo(STDERR_FILENO);
  if (!isBug) // else LLVM shows the stack
    _exit(1);
}

[[gnu::constructor]] static void installHandlers() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { rapt::reportNoMemory(); });
  llvm::install_fatal_error_handler(reportFatalError);
#ifndef RAPT_REPORTS_CRASHES // lib/Driver/Reproducer.h tells more
  auto onCrash = [](void *) {
    if (!rapt::hasMemory(kStack))
      rapt::reportNoMemory();
  };
  llvm::sys::AddSignalHandler(onCrash, nullptr); // before that of InitLLVM, which shows the stack
#endif
}
