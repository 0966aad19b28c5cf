//===- Guarded.h - Memory that ends where it says --------------------------------===//
//
// Buffers for the runtime's API between pages without access, and an allocator
// that hands out such memory, filled with NaN, and can fail.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "rapt/rapt.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rapt::programs {

/// A broken promise ends the process: the parent of the program's process sees it.
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Pages that end with one without access. `size` bytes lie directly before it, or directly behind one.
class Pages {
public:
  Pages() = default;
  Pages(size_t size, size_t alignment, bool atEnd);
  void release();
  char *begin = nullptr;
  /// Bytes around [begin, begin + size) of the same pages still hold what they were filled with.
  bool isIntact(size_t size) const;
  void protect(bool writable) const;

private:
  char *mapped = nullptr;
  size_t bytes = 0; ///< of all pages but those without access
};

/// `count` values of a struct or a number, for one call. Input is read-only while the call runs.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t count, bool atEnd = true) : count(count), pages(count * sizeof(T), alignof(T), atEnd) {}
  Buffer(const std::vector<T> &values, bool atEnd = true) : Buffer(values.size(), atEnd) {
    for (size_t i = 0; i < count; ++i)
      data()[i] = values[i];
  }
  ~Buffer() {
    if (!pages.isIntact(count * sizeof(T)))
      fail("bytes beside a buffer were written");
    pages.release();
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  T *data() { return reinterpret_cast<T *>(pages.begin); }
  T &operator[](size_t i) { return data()[i]; }
  size_t bytes() const { return count * sizeof(T); }
  /// From now on a write ends the process.
  const T *readOnly() {
    pages.protect(false);
    return data();
  }

private:
  size_t count;
  Pages pages;
};

/// The runtime's memory. A freed block loses its pages.
class GuardedAllocator {
public:
  rapt_allocator hooks();
  /// The `count`-th allocation from now on fails, once. 0: none.
  void failAfter(int count) { countdown = count; }
  bool hasFailed() const { return failures > 0; }
  void forget() { countdown = failures = 0; }
  size_t live() const { return blocks.size(); }

private:
  static void *allocate(void *user, size_t bytes, size_t alignment, int32_t device);
  static void free(void *user, void *memory, size_t bytes, int32_t device);
  std::map<void *, std::pair<size_t, Pages>> blocks;
  int countdown = 0, failures = 0;
};

} // namespace rapt::programs
