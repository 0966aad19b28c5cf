//===- TensorMap.cpp - Descriptors of tensors for bulk copies ----------------===//
//
// Limits: CUDA driver API, cuTensorMapEncodeTiled.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/TensorMap.h"
#include <cstring>
using namespace rapt::ptx;

namespace {

constexpr uint64_t magic = 0x5054585f4d4150; // "PTX_MAP"

/// The contents of the 128 bytes; extents are stored less 1, so that 32 bits hold 2^32.
struct Encoded {
  uint64_t magic, address;
  uint32_t extents[TensorMap::mostDims];
  uint16_t box[TensorMap::mostDims];
  uint8_t rank, elementSize, swizzle, fillsNaN;
  uint64_t strides[TensorMap::mostDims];
};
static_assert(sizeof(Encoded) <= TensorMap::bytes);

} // namespace

const char *TensorMap::problem() const {
  if (rank < 1 || rank > mostDims)
    return "the rank must be from 1 to 5";
  if (address % 16)
    return "the address must be a multiple of 16";
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (extents[dim] == 0 || extents[dim] > uint64_t(1) << 32)
      return "an extent must be from 1 to 2^32";
    if (box[dim] == 0 || box[dim] > 256)
      return "an extent of the box must be from 1 to 256";
    if (dim && (strides[dim] % 16 || strides[dim] >= uint64_t(1) << 40))
      return "a stride must be a multiple of 16 below 2^40";
  }
  uint64_t row = uint64_t(box[0]) * elementSize;
  if (row % 16)
    return "a row of the box must be a multiple of 16 bytes";
  if (swizzle != Swizzle::None && row > uint64_t(16) << unsigned(swizzle))
    return "a row of the box must not be longer than the swizzle";
  return nullptr;
}

uint64_t TensorMap::boxBytes() const {
  uint64_t result = elementSize;
  for (unsigned dim = 0; dim < rank; ++dim)
    result *= box[dim];
  return result;
}

void TensorMap::encode(std::span<std::byte, bytes> out) const {
  Encoded encoded{};
  encoded.magic = magic;
  encoded.address = address;
  encoded.rank = rank;
  encoded.elementSize = elementSize;
  encoded.swizzle = uint8_t(swizzle);
  encoded.fillsNaN = fillsNaN;
  for (unsigned dim = 0; dim < rank; ++dim) {
    encoded.extents[dim] = uint32_t(extents[dim] - 1);
    encoded.box[dim] = box[dim];
    encoded.strides[dim] = strides[dim];
  }
  std::memset(out.data(), 0, bytes);
  std::memcpy(out.data(), &encoded, sizeof(encoded));
}

std::optional<TensorMap> TensorMap::decode(std::span<const std::byte> in) {
  Encoded encoded;
  if (in.size() < sizeof(encoded))
    return std::nullopt;
  std::memcpy(&encoded, in.data(), sizeof(encoded));
  if (encoded.magic != magic || encoded.rank < 1 || encoded.rank > mostDims)
    return std::nullopt;
  TensorMap map;
  map.address = encoded.address;
  map.rank = encoded.rank;
  map.elementSize = encoded.elementSize;
  map.swizzle = Swizzle(encoded.swizzle);
  map.fillsNaN = encoded.fillsNaN;
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    map.extents[dim] = uint64_t(encoded.extents[dim]) + 1;
    map.box[dim] = encoded.box[dim];
    map.strides[dim] = encoded.strides[dim];
  }
  return map.problem() ? std::nullopt : std::optional(map);
}
