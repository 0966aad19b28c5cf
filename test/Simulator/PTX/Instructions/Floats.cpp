//===- Floats.cpp - Floating-point arithmetic ------------------------------------===//
//
// Source: PTX ISA 9.7.3 to 9.7.5. Approximations are computed exactly and rounded once: hardware
// may differ in the last bits.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

using Execute = Outcome (*)(Execution &);

template <typename T> T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}

/// The smaller or larger number; a NaN loses unless `propagatesNaN`. -0 is below +0.
template <typename T> T extreme(T a, T b, bool isMax, bool propagatesNaN) {
  if (std::isnan(a) || std::isnan(b))
    return propagatesNaN ? T(NAN) : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) == isMax ? b : a;
  return (a < b) == isMax ? b : a;
}

// Each operation with the number of its operands.
struct Add {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &, T a, T b, T) { return a + b; }
};
struct Sub {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &, T a, T b, T) { return a - b; }
};
struct Mul {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &, T a, T b, T) { return a * b; }
};
struct Div {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &, T a, T b, T) { return a / b; }
};
struct Fma {
  static constexpr unsigned operands = 3;
  template <typename T> static T apply(const Instruction &, T a, T b, T c) { return std::fma(a, b, c); }
};
struct Min {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &i, T a, T b, T) {
    return extreme(a, b, false, i.propagatesNaN);
  }
};
struct Max {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &i, T a, T b, T) {
    return extreme(a, b, true, i.propagatesNaN);
  }
};
struct CopySign {
  static constexpr unsigned operands = 2;
  template <typename T> static T apply(const Instruction &, T a, T b, T) { return std::copysign(b, a); }
};
#define RAPT_UNARY(name, expression)                                                                                   \
  struct name {                                                                                                        \
    static constexpr unsigned operands = 1;                                                                            \
    template <typename T> static T apply(const Instruction &, T a, T, T) { return expression; }                        \
  };
RAPT_UNARY(Rcp, T(1) / a)
RAPT_UNARY(Sqrt, std::sqrt(a))
RAPT_UNARY(Rsqrt, T(1 / std::sqrt(double(a))))
RAPT_UNARY(Ex2, std::exp2(a))
RAPT_UNARY(Lg2, std::log2(a))
RAPT_UNARY(Sin, std::sin(a))
RAPT_UNARY(Cos, std::cos(a))
RAPT_UNARY(Tanh, std::tanh(a))
RAPT_UNARY(Neg, -a)
RAPT_UNARY(Abs, std::fabs(a))
#undef RAPT_UNARY

template <typename Format, typename Operation>
typename Format::Bits compute(const Instruction &instruction, typename Format::Bits a, typename Format::Bits b,
                              typename Format::Bits c) {
  using Value = typename Format::Value;
  Value x = Format::decode(a), y = Format::decode(b), z = Format::decode(c);
  if (instruction.flushes) {
    x = flushed(x);
    y = flushed(y);
    z = flushed(z);
  }
  Value result = Operation::template apply<Value>(instruction, x, y, z);
  if (instruction.flushes)
    result = flushed(result);
  if (instruction.saturates)
    result = result > 0 ? std::min(result, Value(1)) : Value(0);
  if (instruction.clampsAtZero)
    result = std::isnan(result) ? result : std::max(result, Value(0));
  return Format::encode(result);
}

/// One value a register.
template <typename Format, typename Operation> Outcome scalar(Execution &e) {
  using Bits = typename Format::Bits;
  Lanes<Bits> a = read<Bits>(e, e.operand(1)), b{}, c{};
  if constexpr (Operation::operands > 1)
    b = read<Bits>(e, e.operand(2));
  if constexpr (Operation::operands > 2)
    c = read<Bits>(e, e.operand(3));
  const Instruction &instruction = e.instruction;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    a[lane] = compute<Format, Operation>(instruction, a[lane], b[lane], c[lane]);
  write(e, e.operand(0), a);
  return Outcome::Next;
}

/// Two 16-bit values a register.
template <typename Format, typename Operation> Outcome packed(Execution &e) {
  Lanes<uint32_t> a = read<uint32_t>(e, e.operand(1)), b{}, c{};
  if constexpr (Operation::operands > 1)
    b = read<uint32_t>(e, e.operand(2));
  if constexpr (Operation::operands > 2)
    c = read<uint32_t>(e, e.operand(3));
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint32_t low = compute<Format, Operation>(e.instruction, uint16_t(a[lane]), uint16_t(b[lane]), uint16_t(c[lane]));
    uint32_t high = compute<Format, Operation>(e.instruction, uint16_t(a[lane] >> 16), uint16_t(b[lane] >> 16),
                                               uint16_t(c[lane] >> 16));
    a[lane] = low | high << 16;
  }
  write(e, e.operand(0), a);
  return Outcome::Next;
}

template <typename Operation> Execute pick(Type type) {
  switch (type) {
  case Type::F32:
    return scalar<FormatF32, Operation>;
  case Type::F64:
    return scalar<FormatF64, Operation>;
  case Type::F16:
    return scalar<FormatF16, Operation>;
  case Type::BF16:
    return scalar<FormatBF16, Operation>;
  case Type::F16x2:
    return packed<FormatF16, Operation>;
  case Type::BF16x2:
    return packed<FormatBF16, Operation>;
  default:
    return nullptr;
  }
}

struct Entry {
  std::string_view name;
  unsigned operands;
  Execute (*pick)(Type type);
};

constexpr Entry entries[] = {
    {"add", 2, pick<Add>},           {"sub", 2, pick<Sub>}, {"mul", 2, pick<Mul>},   {"div", 2, pick<Div>},
    {"fma", 3, pick<Fma>},           {"mad", 3, pick<Fma>}, {"min", 2, pick<Min>},   {"max", 2, pick<Max>},
    {"copysign", 2, pick<CopySign>}, {"rcp", 1, pick<Rcp>}, {"sqrt", 1, pick<Sqrt>}, {"rsqrt", 1, pick<Rsqrt>},
    {"ex2", 1, pick<Ex2>},           {"lg2", 1, pick<Lg2>}, {"sin", 1, pick<Sin>},   {"cos", 1, pick<Cos>},
    {"tanh", 1, pick<Tanh>},         {"neg", 1, pick<Neg>}, {"abs", 1, pick<Abs>}};

/// testp: a property of a number.
template <typename Format> Outcome testProperty(Execution &e) {
  auto a = read<typename Format::Bits>(e, e.operand(1));
  LaneMask result = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    auto value = Format::decode(a[lane]);
    bool holds[] = {std::isfinite(value), std::isinf(value),    !std::isnan(value),
                    std::isnan(value),    std::isnormal(value), std::fpclassify(value) == FP_SUBNORMAL};
    result |= LaneMask(holds[e.instruction.operation]) << lane;
  }
  writePredicate(e, e.operand(0), result);
  return Outcome::Next;
}

bool decodeTestProperty(Suffixes &suffixes, Instruction &instruction) {
  auto property = suffixes.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  instruction.operation = uint8_t(property.value_or(0));
  Type type = suffixes.takeType();
  instruction.execute = type == Type::F32   ? testProperty<FormatF32>
                        : type == Type::F64 ? testProperty<FormatF64>
                                            : nullptr;
  return property && instruction.operands.size() == 2;
}

} // namespace

bool rapt::ptx::decodeFloats(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() == "testp")
    return decodeTestProperty(suffixes, instruction);
  suffixes.takeOneOf({"rn", "approx", "full"});
  instruction.flushes = suffixes.take("ftz");
  instruction.propagatesNaN = suffixes.take("NaN");
  instruction.saturates = suffixes.take("sat");
  instruction.clampsAtZero = suffixes.take("relu");
  Type type = suffixes.takeType();
  for (const Entry &entry : entries)
    if (entry.name == suffixes.root() && instruction.operands.size() == entry.operands + 1)
      instruction.execute = entry.pick(type);
  return instruction.execute != nullptr;
}
