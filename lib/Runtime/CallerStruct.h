//===- CallerStruct.h - Structs of applications built for other versions --------===//
//
// A struct of rapt.h begins with its size, by which an application says which version of the struct it was compiled
// with. Nothing behind `size` is read before it is checked, and nothing beyond it at all. Linux's copy_struct_from_user
// follows the same rule.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/Message.h"
#include "rapt/rapt.h"
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rapt::runtime {

/// No struct of any version is larger: a size beyond it was never set.
inline constexpr size_t mostStructBytes = 4096;

/// The size that a struct begins with. RAPT_INVALID: it is not `least` to mostStructBytes, or no multiple of 8.
rapt_status readStructSize(const void *given, size_t least, const char *name, size_t &size, const Report &report);

/// Also RAPT_UNSUPPORTED where a byte from `known` on, which belongs to members of a newer version, is not 0.
rapt_status checkStruct(const void *given, size_t least, size_t known, const char *name, const Report &report);

/// Copies what the struct and this version both have; members that the caller's version lacks become 0. `least` is the
/// size of the first version.
template <typename T>
rapt_status readStruct(const T *given, size_t least, const char *name, T &to, const Report &report) {
  to = {};
  if (rapt_status status = checkStruct(given, least, sizeof(T), name, report))
    return status;
  size_t size;
  memcpy(&size, given, sizeof size);
  memcpy(&to, given, size < sizeof(T) ? size : sizeof(T));
  to.size = sizeof(T);
  return RAPT_OK;
}

/// Structs of a caller one after the other, as far apart as the caller's version is large. They are used where they
/// are: members that the first version lacked are read by `get` alone.
template <typename T> class StructArray {
public:
  StructArray() = default;
  StructArray(T *first, size_t stride) : first(first), stride(stride) {}

  /// Checks `count` structs, all of one size, which is `least` (that of the first version) or more. `given` is not null
  /// unless `count` is 0.
  rapt_status adopt(T *given, size_t count, const char *name, const Report &report, size_t least = sizeof(T)) {
    *this = {given, sizeof(T)};
    if (count && reinterpret_cast<uintptr_t>(given) % alignof(T))
      return report.fail(RAPT_INVALID, "the first %s is at %p, which is not a multiple of %zu", name,
                         static_cast<const void *>(given), alignof(T));
    for (size_t i = 0; i < count; ++i) {
      const T &element = (*this)[i];
      if (rapt_status status = checkStruct(&element, least, sizeof(T), name, report))
        return status;
      if (i == 0)
        stride = element.size;
      if (element.size != stride)
        return report.fail(RAPT_INVALID, "%s %zu has size %zu, the first one %zu", name, i, element.size, stride);
    }
    return RAPT_OK;
  }
  T &operator[](size_t i) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return *reinterpret_cast<T *>(reinterpret_cast<Byte *>(first) + i * stride);
  }

  /// A member of a struct; 0 where the caller's version lacks it.
  template <typename Member> Member get(size_t i, Member std::remove_const_t<T>::*member) const {
    const T &element = (*this)[i];
    const char *at = reinterpret_cast<const char *>(&(element.*member));
    const size_t end = size_t(at - reinterpret_cast<const char *>(&element)) + sizeof(Member);
    return end <= stride ? element.*member : Member();
  }

private:
  T *first = nullptr;
  size_t stride = sizeof(T);
};

} // namespace rapt::runtime
