//===- ZeroedArray.h - Large arrays that are hardly touched -------------------===//
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <type_traits>

namespace rapt::ptx {

/// Zeros, of which the pages that are touched alone take memory and time: a workspace can be as large as a GPU's
/// memory, and its shadow eight times that. Without memory for them the program ends.
template <typename T> class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
  explicit ZeroedArray(uint64_t size = 0) : count(size), memory(allocate(size), {size * sizeof(T)}) {}

  uint64_t size() const { return count; }
  T *data() { return memory.get(); }
  const T *data() const { return memory.get(); }
  T &operator[](uint64_t at) { return memory.get()[at]; }
  const T &operator[](uint64_t at) const { return memory.get()[at]; }

private:
  /// Bytes from which on the kernel's pages are taken: memory of malloc that was in use before has to be cleared.
  static constexpr uint64_t mapped = 1 << 20;

  struct Release {
    uint64_t bytes;
    void operator()(T *array) const { bytes < mapped ? free(array) : static_cast<void>(munmap(array, bytes)); }
  };

  static T *allocate(uint64_t size) {
    const uint64_t bytes = size * sizeof(T);
    void *made = bytes < mapped
                     ? calloc(bytes ? bytes : 1, 1)
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || made == MAP_FAILED)
      std::abort();
    return static_cast<T *>(made);
  }

  uint64_t count;
  std::unique_ptr<T, Release> memory;
};

} // namespace rapt::ptx
