//===- Allocation.cpp - Failing allocations of C end raptc with a message ------------------===//
//
// MLIR and LLVM use the results of malloc, calloc and realloc unchecked in many places.
// The linker's option --wrap directs their calls here. operator new has a handler
// already (lib/Driver/Reproducer.h).
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Reproducer.h"
#include <cstddef>

extern "C" {
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  void *memory = __real_malloc(bytes);
  if (!memory && bytes)
    rapt::driver::reportNoMemory();
  return memory;
}

void *__wrap_calloc(size_t count, size_t bytes) {
  void *memory = __real_calloc(count, bytes);
  if (!memory && count && bytes)
    rapt::driver::reportNoMemory();
  return memory;
}

void *__wrap_realloc(void *old, size_t bytes) {
  void *memory = __real_realloc(old, bytes);
  if (!memory && bytes)
    rapt::driver::reportNoMemory();
  return memory;
}
}
