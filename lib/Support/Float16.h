//===- Float16.h - The two 16-bit floating point formats -------------------===//
//
// Conversions between binary32 and bfloat16 / IEEE binary16 on bit patterns:
// exact one way, round to nearest even the other way, subnormals included. They
// do not depend on the rounding mode, on flush-to-zero or on the processor.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <bit>
#include <cstdint>

namespace rapt {

inline float bf16ToF32(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Round to nearest even; overflow gives infinity, a NaN stays a (quiet) NaN of the same sign.
inline uint16_t f32ToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float f16ToF32(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0)
    return std::bit_cast<float>(sign);
  unsigned shift = unsigned(std::countl_zero(mantissa)) - 21; // brings the leading one to bit 10
  return std::bit_cast<float>(sign | (113 - shift) << 23 | (mantissa << shift & 0x3ff) << 13);
}

/// Round to nearest even; overflow gives infinity, a NaN stays a (quiet) NaN of the same sign.
inline uint16_t f32ToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  if (magnitude >= 0x477ff000) // from 65520 on the nearest is infinity
    return sign | 0x7c00;
  if (magnitude >= 0x38800000) { // normal in binary16
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return uint16_t(sign | ((rounded - 0x38000000) >> 13));
  }
  if (magnitude < 0x33000000) // below half of the smallest subnormal
    return sign;
  unsigned shift = 126 - (magnitude >> 23);
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  uint32_t result = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  return uint16_t(sign | (result + (rest > half || (rest == half && (result & 1)))));
}

} // namespace rapt
