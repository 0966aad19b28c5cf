#include "lib/Runtime/Memory.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace rapt::runtime {

/// From this size on, memory comes from the system in zero pages that cost nothing until they are touched.
static constexpr size_t mappedFrom = size_t(256) << 10;

void *Allocator::allocate(size_t bytes, bool zeroed) const {
  if (!hook.alloc && bytes >= mappedFrom) {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    madvise(memory, bytes, MADV_HUGEPAGE); // fewer misses of the address cache; a system without is no worse off
    return memory;
  }
  void *memory = nullptr;
  if (hook.alloc)
    memory = hook.alloc(hook.user, bytes, cacheLine, 0);
  else if (posix_memalign(&memory, cacheLine, bytes))
    memory = nullptr;
  if (memory && zeroed)
    memset(memory, 0, bytes);
  return memory;
}

void Allocator::release(void *memory, size_t bytes) const {
  if (!memory)
    return;
  if (hook.free)
    hook.free(hook.user, memory, bytes, 0);
  else if (bytes >= mappedFrom)
    munmap(memory, bytes);
  else
    free(memory);
}

} // namespace rapt::runtime
