#include "test/Programs/Guarded.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace rapt::programs;

namespace {

constexpr unsigned char filler = 0xFF; // NaN as f32, f16 and bf16, -1 as integers

size_t roundUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

} // namespace

void rapt::programs::fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("broken promise: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(3);
}

Pages::Pages(size_t size, size_t alignment, bool atEnd) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), guard = page;
  bytes = roundUp(size ? size : 1, page);
  void *all = mmap(nullptr, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED || mprotect(static_cast<char *>(all) + guard, bytes, PROT_READ | PROT_WRITE))
    fail("no memory for a buffer of %zu bytes", size);
  mapped = static_cast<char *>(all) + guard;
  memset(mapped, filler, bytes);
  begin = atEnd ? mapped + (bytes - roundUp(size, alignment)) : mapped;
}

void Pages::release() {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  if (mapped)
    munmap(mapped - page, bytes + 2 * page);
  mapped = begin = nullptr;
}

bool Pages::isIntact(size_t size) const {
  for (const char *at = mapped; at < mapped + bytes; ++at)
    if ((at < begin || at >= begin + size) && static_cast<unsigned char>(*at) != filler)
      return false;
  return true;
}

void Pages::protect(bool writable) const {
  if (mprotect(mapped, bytes, PROT_READ | (writable ? PROT_WRITE : 0)))
    fail("the protection of a buffer cannot be changed");
}

rapt_allocator GuardedAllocator::hooks() { return {sizeof(rapt_allocator), this, allocate, free}; }

void *GuardedAllocator::allocate(void *user, size_t bytes, size_t alignment, int32_t device) {
  auto &self = *static_cast<GuardedAllocator *>(user);
  if (alignment == 0 || alignment & (alignment - 1) || alignment > 4096 || device != 0)
    fail("the allocator is asked for %zu bytes aligned to %zu on device %d", bytes, alignment, device);
  if (self.countdown && --self.countdown == 0) {
    ++self.failures;
    return nullptr;
  }
  Pages pages(bytes, alignment, true);
  self.blocks.emplace(pages.begin, std::pair(bytes, pages));
  return pages.begin;
}

void GuardedAllocator::free(void *user, void *memory, size_t bytes, int32_t) {
  auto &self = *static_cast<GuardedAllocator *>(user);
  auto found = self.blocks.find(memory);
  if (found == self.blocks.end() || found->second.first != bytes)
    fail("%zu bytes are freed that were not allocated so", bytes);
  if (!found->second.second.isIntact(bytes))
    fail("bytes behind a block of %zu bytes were written", bytes);
  found->second.second.release();
  self.blocks.erase(found);
}
