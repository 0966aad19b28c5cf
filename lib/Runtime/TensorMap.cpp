//===- TensorMap.cpp - Arrays that a GPU copies by hardware ---------------------------===//
//
// Limits: CUDA driver API, cuTensorMapEncodeTiled. The arrays are the caller's, so that all
// are looked at before the driver is asked.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Device.h"

namespace rapt::runtime {

namespace {

constexpr uint64_t copyBytes = 16; ///< addresses and strides are multiples of it

bool typeOf(int32_t elementBytes, cuda::TensorType &type) {
  // Copies know no more of an element than its bytes: 0 is the same of all types.
  type = elementBytes == 1 ? cuda::TensorU8 : elementBytes == 2 ? cuda::TensorU16 : cuda::TensorI32;
  return elementBytes == 1 || elementBytes == 2 || elementBytes == 4;
}

bool swizzleOf(int32_t bytes, cuda::TensorSwizzle &swizzle) {
  swizzle = bytes == 128  ? cuda::Swizzle128
            : bytes == 64 ? cuda::Swizzle64
            : bytes == 32 ? cuda::Swizzle32
                          : cuda::NoSwizzle;
  return bytes == 0 || swizzle != cuda::NoSwizzle;
}

} // namespace

bool Device::makeTensorMap(const rapt_boxes &tensor, void *map) const {
  cuda::TensorType type;
  cuda::TensorSwizzle swizzle;
  if (tensor.rank < 1 || tensor.rank > cuda::tensorMapDims || !typeOf(tensor.element_bytes, type) ||
      !swizzleOf(tensor.swizzle_bytes, swizzle) || reinterpret_cast<uintptr_t>(tensor.data) % copyBytes)
    return false;
  uint64_t extents[cuda::tensorMapDims], strides[cuda::tensorMapDims];
  uint32_t box[cuda::tensorMapDims], steps[cuda::tensorMapDims];
  for (int32_t dim = 0; dim < tensor.rank; ++dim) {
    if (tensor.extents[dim] < 1 || tensor.extents[dim] > int64_t(1) << 32)
      return false;
    extents[dim] = uint64_t(tensor.extents[dim]);
    box[dim] = uint32_t(tensor.box[dim]);
    steps[dim] = 1;
    // No element is a step further where there is only one.
    uint64_t stride = copyBytes;
    if (tensor.extents[dim] > 1 &&
        (__builtin_mul_overflow(tensor.strides[dim], tensor.element_bytes, &stride) || stride >= uint64_t(1) << 40))
      return false;
    if (dim > 0 && stride % copyBytes)
      return false;
    if (dim > 0)
      strides[dim - 1] = stride;
    else if (tensor.extents[0] > 1 && tensor.strides[0] != 1)
      return false;
  }
  return driver.encodeTensorMap(map, type, uint32_t(tensor.rank), tensor.data, extents, strides, box, steps,
                                /*interleave=*/0, swizzle, cuda::promote128, /*fill=*/0) == cuda::Success;
}

} // namespace rapt::runtime
