//===- Memory.h - Memory without exceptions ------------------------------------===//
//
// The runtime is built without exceptions and must survive any failing
// allocation, so it holds memory in Array, whose growth returns a bool, and not
// in standard containers.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "rapt/rapt.h"
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace rapt::runtime {

inline constexpr size_t cacheLine = 64;

/// The application's allocator, or the system's.
class Allocator {
public:
  Allocator() = default; // the system's
  explicit Allocator(const rapt_allocator &hook) : hook(hook) {}

  /// Null when there is no memory. Zeroed memory of the system's allocator is taken page by page as it is used.
  void *allocate(size_t bytes, bool zeroed = false) const;
  void release(void *memory, size_t bytes) const;

private:
  rapt_allocator hook{};
};

/// A block of plain values from an Allocator. Not initialized unless asked.
template <typename T> class Array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { clear(); }

  /// Replaces the content. False, and an empty array, when there is no memory or the size overflows.
  [[nodiscard]] bool allocate(const Allocator &from, size_t count, bool zeroed = false) {
    clear();
    if (count > SIZE_MAX / sizeof(T))
      return false;
    values = static_cast<T *>(from.allocate(count ? count * sizeof(T) : sizeof(T), zeroed));
    if (!values)
      return false;
    allocator = from;
    length = count;
    return true;
  }
  void clear() {
    if (values)
      allocator.release(values, length ? length * sizeof(T) : sizeof(T));
    values = nullptr;
    length = 0;
  }
  void swap(Array &other) {
    std::swap(allocator, other.allocator);
    std::swap(values, other.values);
    std::swap(length, other.length);
  }
  T *data() { return values; }
  const T *data() const { return values; }
  size_t size() const { return length; }
  T &operator[](size_t i) { return values[i]; }
  const T &operator[](size_t i) const { return values[i]; }

private:
  Allocator allocator;
  T *values = nullptr;
  size_t length = 0;
};

/// a * b, or false when it does not fit.
inline bool multiply(uint64_t a, uint64_t b, uint64_t &product) { return !__builtin_mul_overflow(a, b, &product); }

/// Whether a pointer of a caller's is one to a T. NULL is.
template <typename T> bool isAligned(const T *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % alignof(T) == 0;
}

/// ceil(a / b) for a >= 0, b > 0.
inline int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

} // namespace rapt::runtime
