//===- Tensor.h - Tensors of callers ---------------------------------------------===//
#pragma once
#include "lib/Runtime/CallerStruct.h"
#include "rapt/rapt.h"
#include <cstdint>

namespace rapt::runtime {

inline constexpr int maxRank = 8;

struct DType {
  const char *name;
  uint8_t code, bits;
};
inline constexpr DType typeI64{"i64", RAPT_DTYPE_INT, 64}, typeI32{"i32", RAPT_DTYPE_INT, 32},
    typeF32{"f32", RAPT_DTYPE_FLOAT, 32};

inline bool is(const rapt_tensor &t, DType d) {
  return t.dtype_code == d.code && t.dtype_bits == d.bits && t.dtype_lanes <= 1;
}
inline bool isInteger(const rapt_tensor &t) { return is(t, typeI64) || is(t, typeI32); }

/// Elements from one index of dimension i to the next.
int64_t strideOf(const rapt_tensor &t, int i);

/// Whether the dims from `first` on are dense.
bool isDenseFrom(const rapt_tensor &t, int first);

/// The integer `element` elements from the tensor's start.
int64_t integerAt(const rapt_tensor &t, int64_t element);

/// Whether two tensors, which checkTensor has seen, share memory: the bytes from the first to the last element of each.
bool overlap(const rapt_tensor &a, const rapt_tensor &b);

using Tensors = StructArray<const rapt_tensor>;

/// A tensor of `rank` dimensions of 1 or more, in memory of the CPU, aligned to its elements, all of which have
/// addresses; tells otherwise. Its size has been checked.
rapt_status checkTensor(const char *name, const rapt_tensor &t, int rank, const Report &report);

/// Where a tensor of a caller goes, and the dimensions that it must have.
struct TensorPlace {
  const rapt_tensor **tensor = nullptr;
  int rank = 0;
};

/// Puts tensors in their places: `find(name, place)` fails where there is none of that name.
template <typename Find>
rapt_status bindByName(size_t count, const char *const *names, const Tensors &tensors, const Report &report,
                       Find find) {
  for (size_t i = 0; i < count; ++i) {
    const char *name = names[i] ? names[i] : "";
    TensorPlace place;
    if (rapt_status status = find(name, place))
      return status;
    if (*place.tensor)
      return report.fail(RAPT_INVALID, "tensor %s is given twice", name);
    if (rapt_status status = checkTensor(name, tensors[i], place.rank, report))
      return status;
    *place.tensor = &tensors[i];
  }
  return RAPT_OK;
}

/// "[2, 3]"
struct ShapeText {
  char text[24 * maxRank];
};
ShapeText showShape(const int64_t *shape, int rank);

} // namespace rapt::runtime
