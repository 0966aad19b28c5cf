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

/// The integer `element` elements from the tensor's start.
int64_t integerAt(const rapt_tensor &t, int64_t element);

/// Whether two tensors, which checkTensor has seen, share memory: the bytes from the first to the last element of each.
bool overlap(const rapt_tensor &a, const rapt_tensor &b);

using Tensors = StructArray<const rapt_tensor>;

/// A tensor of `rank` dimensions of 1 or more, in memory of the CPU, aligned to its elements, all of which have
/// addresses; tells otherwise. Its size has been checked.
rapt_status checkTensor(const char *name, const rapt_tensor &t, int rank, const Report &report);

/// "[2, 3]"
struct ShapeText {
  char text[24 * maxRank];
};
ShapeText showShape(const int64_t *shape, int rank);

} // namespace rapt::runtime
