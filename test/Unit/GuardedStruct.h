//===- GuardedStruct.h - Structs at the end of what may be read ---------------===//
//
// The last byte of the struct is the last of its page, and the page behind it has no access: whoever reads or writes
// a byte more ends the test.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace rapt::test {

template <typename T> class GuardedStruct {
public:
  /// `bytes` of which `content` is the beginning; what content lacks is 0.
  explicit GuardedStruct(size_t bytes, const T &content = {}) {
    pages = mmap(nullptr, 3 * pageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<char *>(pages) + 2 * pageBytes, pageBytes, PROT_NONE), 0);
    memory = static_cast<char *>(pages) + 2 * pageBytes - bytes;
    memcpy(memory, &content, bytes < sizeof content ? bytes : sizeof content);
    memcpy(memory, &bytes, sizeof bytes);
  }
  ~GuardedStruct() { munmap(pages, 3 * pageBytes); }
  GuardedStruct(const GuardedStruct &) = delete;
  GuardedStruct &operator=(const GuardedStruct &) = delete;

  /// Claims another size than there is.
  void claim(size_t bytes) { memcpy(memory, &bytes, sizeof bytes); }
  T *get() { return reinterpret_cast<T *>(memory); }
  char *bytes() { return memory; }

private:
  static constexpr size_t pageBytes = 4096;
  void *pages;
  char *memory;
};

/// Calls `use`, which returns a rapt_status, with structs of every kind of size. `least` is the size of the struct's
/// first version, `good` has members with which the call succeeds.
template <typename T, typename Use> void checkStructSizes(size_t least, const T &good, Use use) {
  constexpr int ok = 0, invalid = 1, unsupported = 12;
  for (size_t bytes : {least, sizeof(T), sizeof(T) + 8, size_t(4096)}) {
    GuardedStruct<T> given(bytes, good);
    EXPECT_EQ(use(given.get()), ok) << bytes;
  }
  for (size_t claimed : {size_t(0), size_t(1), size_t(8), least - 8, least + 1, size_t(4104), SIZE_MAX - 7, SIZE_MAX}) {
    GuardedStruct<T> given(8); // as few bytes as have a size
    given.claim(claimed);
    EXPECT_EQ(use(given.get()), invalid) << claimed;
  }
  GuardedStruct<T> newer(sizeof(T) + 16, good);
  newer.bytes()[sizeof(T) + 15] = 1;
  EXPECT_EQ(use(newer.get()), unsupported);
}

} // namespace rapt::test
