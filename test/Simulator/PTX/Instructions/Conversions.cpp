//===- Conversions.cpp - cvt -------------------------------------------------------===//
//
// Source: PTX ISA 9.7.9, cvt. Every conversion goes through double or a 64-bit integer, which hold
// each source exactly, and is rounded once.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt;
using namespace rapt::ptx;

namespace {

enum Rounding : uint8_t { Nearest, TowardZero, Down, Up, NearestAway };

/// A source value: an integer, or a float.
struct Source {
  bool isFloat = false, isNegative = false;
  double real = 0;
  uint64_t bits = 0; ///< of an integer, extended to 64 bits
};

uint64_t extend(uint64_t bits, Type type) {
  unsigned shift = 64 - 8 * sizeOf(type);
  return isSigned(type) ? uint64_t(int64_t(bits << shift) >> shift) : bits << shift >> shift;
}

double decodeFloat(uint64_t bits, Type type) {
  switch (type) {
  case Type::F16:
    return f16ToF32(uint16_t(bits));
  case Type::BF16:
    return bf16ToF32(uint16_t(bits));
  case Type::F32:
    return std::bit_cast<float>(uint32_t(bits));
  default:
    return std::bit_cast<double>(bits);
  }
}

double roundToInteger(double value, uint8_t rounding) {
  switch (rounding) {
  case TowardZero:
    return std::trunc(value);
  case Down:
    return std::floor(value);
  case Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// A float rounded as asked for; where the nearest lies on the wrong side, its neighbor.
float roundToFloat(double value, uint8_t rounding) {
  float nearest = float(value);
  if (double(nearest) == value || std::isnan(value) || rounding == Nearest)
    return nearest;
  bool goesUp = rounding == Up || (rounding == TowardZero && value < 0);
  if (goesUp ? double(nearest) < value : double(nearest) > value)
    return std::nextafter(nearest, goesUp ? INFINITY : -INFINITY);
  return nearest;
}

/// f32 with the low 13 bits of its mantissa rounded away, ties away from zero.
uint32_t encodeTF32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::isfinite(value) ? (bits + 0x1000) & ~uint32_t(0x1fff) : bits;
}

/// 16 bits by truncation (cvt.rz) or to the nearest.
uint16_t encodeHalf(double value, bool isBF16, uint8_t rounding) {
  uint16_t bits = isBF16 ? FormatBF16::encode(value) : FormatF16::encode(value);
  double rounded = isBF16 ? FormatBF16::decode(bits) : FormatF16::decode(bits);
  if (rounding == TowardZero && std::fabs(rounded) > std::fabs(value))
    --bits;
  return bits;
}

uint64_t encodeFloat(double value, const Instruction &instruction, Type type) {
  if (instruction.saturates)
    value = value > 0 ? std::min(value, 1.0) : 0;
  if (instruction.clampsAtZero && value < 0)
    value = 0;
  switch (type) {
  case Type::F16:
  case Type::BF16:
    return encodeHalf(value, type == Type::BF16, instruction.rounding);
  case Type::F32: {
    float result = roundToFloat(value, instruction.rounding);
    if (instruction.flushes && std::fpclassify(result) == FP_SUBNORMAL)
      result = std::copysign(0.f, result);
    return std::bit_cast<uint32_t>(result);
  }
  case Type::TF32:
    return encodeTF32(float(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

/// Saturates: what is out of range becomes the nearest end, NaN zero.
uint64_t encodeInteger(double value, Type type) {
  unsigned bits = 8 * sizeOf(type);
  if (std::isnan(value))
    return 0;
  if (isSigned(type)) {
    double end = std::ldexp(1.0, int(bits) - 1);
    int64_t least = int64_t(uint64_t(-1) << (bits - 1));
    return uint64_t(value >= end ? -(least + 1) : value < -end ? least : int64_t(value));
  }
  double end = std::ldexp(1.0, int(bits));
  return value >= end ? ~uint64_t(0) >> (64 - bits) : value < 0 ? 0 : uint64_t(value);
}

uint64_t saturateInteger(const Source &source, Type type) {
  unsigned bits = 8 * sizeOf(type);
  if (isSigned(type)) {
    int64_t least = int64_t(uint64_t(-1) << (bits - 1)), most = -(least + 1);
    if (!source.isNegative)
      return std::min(source.bits, uint64_t(most));
    return uint64_t(std::clamp(int64_t(source.bits), least, most));
  }
  return source.isNegative ? 0 : std::min(source.bits, ~uint64_t(0) >> (64 - bits));
}

uint64_t convert(uint64_t bits, const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  Source source;
  source.isFloat = isFloat(from);
  if (source.isFloat) {
    source.real = decodeFloat(bits, from);
    if (instruction.flushes && from == Type::F32 && std::fpclassify(float(source.real)) == FP_SUBNORMAL)
      source.real = std::copysign(0.0, source.real);
    if (!isFloat(to))
      return encodeInteger(roundToInteger(source.real, instruction.rounding), to);
    if (instruction.flags)
      source.real = roundToInteger(source.real, instruction.rounding);
    return encodeFloat(source.real, instruction, to);
  }
  source.bits = extend(bits, from);
  source.isNegative = isSigned(from) && int64_t(source.bits) < 0;
  if (!isFloat(to))
    return instruction.saturates ? saturateInteger(source, to) : source.bits;
  if (to == Type::F32 && instruction.rounding == Nearest)
    return std::bit_cast<uint32_t>(source.isNegative ? float(int64_t(source.bits)) : float(source.bits));
  return encodeFloat(source.isNegative ? double(int64_t(source.bits)) : double(source.bits), instruction, to);
}

template <typename T> void writeBits(Execution &e, const Lanes<uint64_t> &bits) {
  Lanes<T> values;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    values[lane] = T(bits[lane]);
  write(e, e.operand(0), values);
}

/// Writes a value of `type`, extended where the register is wider.
void writeTyped(Execution &e, Type type, const Lanes<uint64_t> &bits) {
  switch (sizeOf(type)) {
  case 1:
    return isSigned(type) ? writeBits<int8_t>(e, bits) : writeBits<uint8_t>(e, bits);
  case 2:
    return isSigned(type) ? writeBits<int16_t>(e, bits) : writeBits<uint16_t>(e, bits);
  case 4:
    return isSigned(type) ? writeBits<int32_t>(e, bits) : writeBits<uint32_t>(e, bits);
  default:
    return writeBits<uint64_t>(e, bits);
  }
}

Lanes<uint64_t> readTyped(Execution &e, const Operand &operand, Type type) {
  Lanes<uint64_t> values = read<uint64_t>(e, operand);
  unsigned shift = 64 - 8 * sizeOf(type);
  for (uint64_t &value : values)
    value = value << shift >> shift;
  return values;
}

Outcome convertScalar(Execution &e) {
  Lanes<uint64_t> values = readTyped(e, e.operand(1), e.instruction.sourceType);
  for (uint64_t &value : values)
    value = convert(value, e.instruction);
  writeTyped(e, e.instruction.type, values);
  return Outcome::Next;
}

/// Two f32 to a pair; the first operand becomes the high half.
Outcome convertPair(Execution &e) {
  Lanes<uint32_t> high = read<uint32_t>(e, e.operand(1)), low = read<uint32_t>(e, e.operand(2));
  Type pair = e.instruction.type;
  bool isFloat8 = pair == Type::E4M3x2 || pair == Type::E5M2x2;
  Type half = pair == Type::BF16x2 ? Type::BF16 : Type::F16;
  auto encode = [&](uint32_t bits) -> uint64_t {
    float value = std::bit_cast<float>(bits);
    if (e.instruction.clampsAtZero && value < 0)
      value = 0;
    return isFloat8 ? encodeFloat8(value, pair == Type::E5M2x2) : encodeFloat(value, e.instruction, half);
  };
  Lanes<uint64_t> result;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = encode(low[lane]) | encode(high[lane]) << (isFloat8 ? 8 : 16);
  writeTyped(e, pair, result);
  return Outcome::Next;
}

/// A pair of 8-bit floats to a pair of f16.
Outcome widenFloat8(Execution &e) {
  Lanes<uint16_t> source = read<uint16_t>(e, e.operand(1));
  bool isE5M2 = e.instruction.sourceType == Type::E5M2x2;
  Lanes<uint32_t> result;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = uint32_t(f32ToF16(decodeFloat8(uint8_t(source[lane]), isE5M2))) |
                   uint32_t(f32ToF16(decodeFloat8(uint8_t(source[lane] >> 8), isE5M2))) << 16;
  write(e, e.operand(0), result);
  return Outcome::Next;
}

} // namespace

bool rapt::ptx::decodeConversions(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "cvt")
    return false;
  if (auto rounding = suffixes.takeOneOf({"rn", "rz", "rm", "rp", "rna"})) {
    instruction.rounding = uint8_t(*rounding);
  } else if (auto toInteger = suffixes.takeOneOf({"rni", "rzi", "rmi", "rpi"})) {
    instruction.rounding = uint8_t(*toInteger);
    instruction.flags = 1;
  }
  bool staysFinite = suffixes.take("satfinite");
  instruction.clampsAtZero = suffixes.take("relu");
  instruction.flushes = suffixes.take("ftz");
  instruction.saturates = suffixes.take("sat");
  Type to = instruction.type = suffixes.takeType(), from = instruction.sourceType = suffixes.takeType();
  bool isFloat8 = to == Type::E4M3x2 || to == Type::E5M2x2;
  if (from == Type::E4M3x2 || from == Type::E5M2x2) {
    instruction.execute = widenFloat8;
    return to == Type::F16x2 && instruction.operands.size() == 2;
  }
  if (to == Type::BF16x2 || to == Type::F16x2 || isFloat8) {
    instruction.execute = convertPair;
    return from == Type::F32 && staysFinite == isFloat8 && instruction.operands.size() == 3;
  }
  instruction.execute = convertScalar;
  return !staysFinite && sizeOf(to) && sizeOf(from) && from != Type::TF32 && instruction.operands.size() == 2;
}
