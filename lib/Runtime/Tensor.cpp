#include "lib/Runtime/Tensor.h"
#include "lib/Runtime/Memory.h"
#include <cstdio>

namespace rapt::runtime {

using ll = long long;

int64_t strideOf(const rapt_tensor &t, int i) {
  if (t.strides)
    return t.strides[i];
  int64_t stride = 1;
  for (int j = t.rank - 1; j > i; --j)
    stride *= t.shape[j];
  return stride;
}

bool isDenseFrom(const rapt_tensor &t, int first) {
  int64_t dense = 1;
  for (int i = t.rank - 1; i >= first; dense *= t.shape[i--])
    if (t.shape[i] != 1 && strideOf(t, i) != dense)
      return false;
  return true;
}

int64_t integerAt(const rapt_tensor &t, int64_t element) {
  return is(t, typeI64) ? static_cast<const int64_t *>(t.data)[element] : static_cast<const int32_t *>(t.data)[element];
}

/// The address range [first, last) from a tensor's first to its last element. False where addresses overflow.
static bool addressesOf(const rapt_tensor &t, uintptr_t &first, uintptr_t &last) {
  const int64_t bytes = (t.dtype_bits + 7) / 8;
  int64_t low = 0, high = 1, reach;
  for (int i = 0; i < t.rank; ++i) {
    if (__builtin_mul_overflow(strideOf(t, i), t.shape[i] - 1, &reach))
      return false;
    int64_t &bound = reach < 0 ? low : high;
    if (__builtin_add_overflow(bound, reach, &bound))
      return false;
  }
  const auto data = reinterpret_cast<uintptr_t>(t.data);
  return !__builtin_mul_overflow(low, bytes, &low) && !__builtin_mul_overflow(high, bytes, &high) &&
         !__builtin_add_overflow(data, low, &first) && !__builtin_add_overflow(data, high, &last);
}

bool overlap(const rapt_tensor &a, const rapt_tensor &b) {
  uintptr_t firstA, lastA, firstB, lastB;
  return addressesOf(a, firstA, lastA) && addressesOf(b, firstB, lastB) && firstA < lastB && firstB < lastA;
}

rapt_status checkTensor(const char *name, const rapt_tensor &t, int rank, const Report &report) {
  if (t.rank != rank)
    return report.fail(RAPT_INVALID, "%s: has rank %d, not %d", name, t.rank, rank);
  if (!t.shape || !isAligned(t.shape) || !isAligned(t.strides))
    return report.fail(RAPT_INVALID, t.shape ? "%s: its shape or strides are not aligned" : "%s: has no shape", name);
  if (t.device_type != RAPT_DEVICE_CPU)
    return report.fail(RAPT_INVALID, "%s: is on device type %d, not %d (CPU)", name, t.device_type, RAPT_DEVICE_CPU);
  int64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    if (t.shape[i] < 1 || t.shape[i] > INT32_MAX)
      return report.fail(RAPT_INVALID, "%s: its dimension %d is %lld, not between 1 and %d", name, i, ll(t.shape[i]),
                         INT32_MAX);
    if (__builtin_mul_overflow(elements, t.shape[i], &elements) || elements > (int64_t(1) << 48))
      return report.fail(RAPT_INVALID, "%s: is larger than any memory", name);
  }
  if (!t.data)
    return report.fail(RAPT_INVALID, "%s: has no data", name);
  if (reinterpret_cast<uintptr_t>(t.data) % (t.dtype_bits / 8 ? t.dtype_bits / 8 : 1))
    return report.fail(RAPT_INVALID, "%s: its data at %p is not aligned to its elements of %d bits", name, t.data,
                       t.dtype_bits);
  if (uintptr_t first, last; !addressesOf(t, first, last))
    return report.fail(RAPT_INVALID, "%s: its strides reach beyond any memory", name);
  return RAPT_OK;
}

ShapeText showShape(const int64_t *shape, int rank) {
  ShapeText result;
  int at = snprintf(result.text, sizeof result.text, "[");
  for (int i = 0; i < rank && i < maxRank; ++i)
    at += snprintf(result.text + at, sizeof result.text - size_t(at), i ? ", %lld" : "%lld", ll(shape[i]));
  snprintf(result.text + at, sizeof result.text - size_t(at), "]");
  return result;
}

} // namespace rapt::runtime
