//===- FloatFormats.h - Floating-point types of PTX as C++ types -------------===//
//
// A format tells its bits in a register and the type that its results are computed in,
// before one rounding.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Float16.h"
#include "test/Simulator/PTX/Types.h"
#include <bit>
#include <cmath>

namespace rapt::ptx {

/// The float next to `value` whose last bit tells that it is inexact: a second rounding, to fewer bits, is then right.
inline float roundToOdd(double value) {
  float rounded = float(value);
  if (std::isnan(value) || double(rounded) == value || (std::bit_cast<uint32_t>(rounded) & 1))
    return rounded;
  return std::nextafter(rounded, value > double(rounded) ? INFINITY : -INFINITY);
}

struct FormatF32 {
  using Bits = uint32_t;
  using Value = float;
  static float decode(uint32_t bits) { return std::bit_cast<float>(bits); }
  static uint32_t encode(float value) { return std::bit_cast<uint32_t>(value); }
};
struct FormatF64 {
  using Bits = uint64_t;
  using Value = double;
  static double decode(uint64_t bits) { return std::bit_cast<double>(bits); }
  static uint64_t encode(double value) { return std::bit_cast<uint64_t>(value); }
};
struct FormatF16 {
  using Bits = uint16_t;
  using Value = double;
  static double decode(uint16_t bits) { return f16ToF32(bits); }
  static uint16_t encode(double value) { return f32ToF16(roundToOdd(value)); }
};
struct FormatBF16 {
  using Bits = uint16_t;
  using Value = double;
  static double decode(uint16_t bits) { return bf16ToF32(bits); }
  static uint16_t encode(double value) { return f32ToBf16(roundToOdd(value)); }
};

/// The value of an 8-bit float (OCP 8-bit floating point specification): e4m3 has no infinity, e5m2 has.
inline float decodeFloat8(uint8_t bits, bool isE5M2) {
  unsigned mantissaBits = isE5M2 ? 2 : 3, bias = isE5M2 ? 15 : 7;
  unsigned exponent = (bits & 0x7f) >> mantissaBits, mantissa = bits & ((1u << mantissaBits) - 1);
  float sign = bits & 0x80 ? -1.f : 1.f;
  if (isE5M2 ? exponent == 31 : (bits & 0x7f) == 0x7f)
    return isE5M2 && mantissa == 0 ? sign * INFINITY : NAN;
  float fraction = float(mantissa) / float(1u << mantissaBits);
  return sign * (exponent ? std::ldexp(1 + fraction, int(exponent) - int(bias)) : std::ldexp(fraction, 1 - int(bias)));
}

/// Rounds to the nearest 8-bit float, ties to even; what is too large becomes the largest finite one.
inline uint8_t encodeFloat8(float value, bool isE5M2) {
  if (std::isnan(value))
    return 0x7f;
  uint8_t sign = std::signbit(value) ? 0x80 : 0, best = 0;
  float magnitude = std::fabs(value), distance = INFINITY;
  for (unsigned bits = 0; bits <= (isE5M2 ? 0x7bu : 0x7eu); ++bits) {
    float difference = std::fabs(decodeFloat8(uint8_t(bits), isE5M2) - magnitude);
    if (difference < distance || (difference == distance && bits % 2 == 0)) {
      best = uint8_t(bits);
      distance = difference;
    }
  }
  return sign | best;
}

/// An element of a matrix operand, in the low bits. The hardware reads the upper 19 bits of tf32.
inline double decodeMatrixElement(Type type, uint32_t bits) {
  switch (type) {
  case Type::F16:
    return f16ToF32(uint16_t(bits));
  case Type::BF16:
    return bf16ToF32(uint16_t(bits));
  case Type::TF32:
    return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
  case Type::E4M3:
  case Type::E5M2:
    return decodeFloat8(uint8_t(bits), type == Type::E5M2);
  case Type::S8:
    return int8_t(bits);
  default:
    return uint8_t(bits);
  }
}

} // namespace rapt::ptx
