//===- Conversion.cpp - Runs of values from one storage type to another --------===//
//
// The loops over blocks of 16 are branch-free so that they vectorize, for each pair of
// types apart; a block that holds a subnormal, infinite or NaN value of f16 goes the exact
// scalar way.
//
//===----------------------------------------------------------------------===//
#include "lib/Artifact/Conversion.h"
#include "lib/Support/Float16.h"
#include "lib/Support/WideVectors.h"
#include <cstring>

namespace rapt::artifact {

namespace {

constexpr size_t blockSize = 16;

bool isFinite32(uint32_t bits) { return (bits & 0x7f800000) != 0x7f800000; }

/// Widens 16 binary16 values whose exponents are neither 0 (unless the value is zero) nor 31; false when one is.
[[gnu::always_inline]] inline bool widenNormalF16(const uint16_t (&in)[blockSize], uint32_t (&out)[blockSize]) {
  uint32_t odd = 0;
  for (size_t i = 0; i < blockSize; ++i) {
    const uint32_t bits = in[i], exponent = bits & 0x7c00, magnitude = bits & 0x7fff;
    odd |= uint32_t(exponent == 0x7c00) | uint32_t(exponent == 0 && magnitude != 0);
    out[i] = (bits & 0x8000) << 16 | (magnitude == 0 ? 0 : (magnitude << 13) + 0x38000000);
  }
  return !odd;
}

/// Narrows 16 values that are zero or normal and finite after rounding to binary16; false when one is not.
[[gnu::always_inline]] inline bool narrowNormalF16(const uint32_t (&in)[blockSize], uint16_t (&out)[blockSize]) {
  uint32_t odd = 0;
  for (size_t i = 0; i < blockSize; ++i) {
    const uint32_t magnitude = in[i] & 0x7fffffff;
    odd |= uint32_t(magnitude >= 0x477ff000) | uint32_t(magnitude < 0x38800000 && magnitude != 0);
    const uint32_t rounded = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
    out[i] = uint16_t((in[i] >> 16 & 0x8000) | (magnitude == 0 ? 0 : rounded));
  }
  return !odd;
}

template <DType from>
[[gnu::always_inline]] inline void widenBlock(const std::byte *source, uint32_t (&out)[blockSize]) {
  uint16_t in[blockSize];
  if (from == DType::F32) {
    std::memcpy(out, source, sizeof out);
    return;
  }
  std::memcpy(in, source, sizeof in);
  if (from == DType::BF16) {
    for (size_t i = 0; i < blockSize; ++i)
      out[i] = uint32_t(in[i]) << 16;
    return;
  }
  if (!widenNormalF16(in, out))
    for (size_t i = 0; i < blockSize; ++i)
      out[i] = std::bit_cast<uint32_t>(f16ToF32(in[i]));
}

/// Returns false when a finite value became infinite.
template <DType to> [[gnu::always_inline]] inline bool narrowBlock(const uint32_t (&in)[blockSize], std::byte *target) {
  uint16_t out[blockSize];
  uint32_t overflow = 0;
  if (to == DType::F32) {
    std::memcpy(target, in, sizeof in);
    return true;
  }
  if (to == DType::BF16) {
    for (size_t i = 0; i < blockSize; ++i) {
      out[i] = f32ToBf16(std::bit_cast<float>(in[i]));
      overflow |= uint32_t((out[i] & 0x7f80) == 0x7f80 && isFinite32(in[i]));
    }
  } else if (!narrowNormalF16(in, out)) {
    for (size_t i = 0; i < blockSize; ++i) {
      out[i] = f32ToF16(std::bit_cast<float>(in[i]));
      overflow |= uint32_t((out[i] & 0x7c00) == 0x7c00 && isFinite32(in[i]));
    }
  }
  std::memcpy(target, out, sizeof out);
  return !overflow;
}

template <DType from, DType to> struct Convert {
  template <int bytes>
  [[gnu::always_inline]] static bool run(const std::byte *source, std::byte *target, size_t count) {
    const size_t sourceSize = sizeOf(from), targetSize = sizeOf(to);
    bool fine = true;
    uint32_t values[blockSize];
    size_t i = 0;
    for (; i + blockSize <= count; i += blockSize) {
      widenBlock<from>(source + i * sourceSize, values);
      fine &= narrowBlock<to>(values, target + i * targetSize);
    }
    if (i < count) {
      std::byte in[blockSize * 4] = {}, out[blockSize * 4];
      std::memcpy(in, source + i * sourceSize, (count - i) * sourceSize);
      widenBlock<from>(in, values);
      fine &= narrowBlock<to>(values, out);
      std::memcpy(target + i * targetSize, out, (count - i) * targetSize);
    }
    return fine;
  }
};

template <DType from> bool convertFrom(const std::byte *source, std::byte *target, DType to, size_t count) {
  if (to == DType::F32)
    return runWide<Convert<from, DType::F32>>(source, target, count);
  if (to == DType::BF16)
    return runWide<Convert<from, DType::BF16>>(source, target, count);
  return runWide<Convert<from, DType::F16>>(source, target, count);
}

} // namespace

bool convert(const std::byte *source, DType from, std::byte *target, DType to, size_t count) {
  if (from == to) {
    if (source != target)
      std::memcpy(target, source, count * sizeOf(from));
    return true;
  }
  if (from == DType::F32)
    return convertFrom<DType::F32>(source, target, to, count);
  if (from == DType::BF16)
    return convertFrom<DType::BF16>(source, target, to, count);
  return convertFrom<DType::F16>(source, target, to, count);
}

const char *nameOf(DType type) { return type == DType::F32 ? "f32" : type == DType::BF16 ? "bf16" : "f16"; }

} // namespace rapt::artifact
