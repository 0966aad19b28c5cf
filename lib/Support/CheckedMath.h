//===- CheckedMath.h - Integer arithmetic that tells when it overflows -----===//
//
// Sizes and offsets read from a file are hostile. Every sum and product of them
// goes through here; an empty optional means that the result does not fit.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace rapt {

template <typename T> constexpr bool isCheckedType = std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t>;

template <typename T> std::optional<T> checkedAdd(T a, std::type_identity_t<T> b) {
  static_assert(isCheckedType<T>);
  T sum;
  if (__builtin_add_overflow(a, b, &sum))
    return std::nullopt;
  return sum;
}

template <typename T> std::optional<T> checkedMul(T a, std::type_identity_t<T> b) {
  static_assert(isCheckedType<T>);
  T product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

/// Product of all `factors`; 1 when there are none. A zero wins over an overflow of the others: the product is 0.
template <typename T> std::optional<T> checkedProduct(std::span<const T> factors) {
  for (T factor : factors)
    if (factor == 0)
      return T(0);
  std::optional<T> product = T(1);
  for (T factor : factors)
    if (product = checkedMul<T>(*product, factor); !product)
      return std::nullopt;
  return product;
}

/// `value` rounded up to a multiple of `unit` (> 0).
inline std::optional<uint64_t> checkedAlignUp(uint64_t value, uint64_t unit) {
  uint64_t rest = value % unit;
  return rest == 0 ? std::optional(value) : checkedAdd(value, unit - rest);
}

} // namespace rapt
