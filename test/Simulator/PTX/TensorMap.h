//===- TensorMap.h - Descriptors of tensors for bulk copies ------------------===//
//
// The 128 bytes that cuTensorMapEncodeTiled fills are opaque; the simulator has its own contents.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rapt::ptx {

/// The span in which 16-byte chunks of shared memory are permuted.
enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };

/// A tensor in global memory and the box that one copy moves, dimensions from the innermost one on.
struct TensorMap {
  static constexpr unsigned bytes = 128, mostDims = 5;
  uint64_t address = 0;
  uint8_t rank = 0, elementSize = 0;
  Swizzle swizzle = Swizzle::None;
  bool fillsNaN = false;
  std::array<uint64_t, mostDims> extents{};
  std::array<uint64_t, mostDims> strides{}; ///< in bytes; the first is the element's size
  std::array<uint16_t, mostDims> box{};

  /// Why the hardware would refuse it, or null.
  const char *problem() const;
  uint64_t boxBytes() const;

  void encode(std::span<std::byte, bytes> out) const;
  static std::optional<TensorMap> decode(std::span<const std::byte> in);
};

/// Where the byte at `address` of shared memory lies: bits 4 to 6 are combined with bits 7 to 9, or fewer of both.
constexpr uint64_t swizzled(Swizzle swizzle, uint64_t address) {
  uint64_t mask = swizzle == Swizzle::Bytes128  ? 7
                  : swizzle == Swizzle::Bytes64 ? 3
                  : swizzle == Swizzle::Bytes32 ? 1
                                                : 0;
  return address ^ (address >> 7 & mask) << 4;
}

} // namespace rapt::ptx
