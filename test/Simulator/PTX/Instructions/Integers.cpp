//===- Integers.cpp - Integer arithmetic --------------------------------------===//
//
// Source: PTX ISA 9.7.1, integer arithmetic instructions.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Values.h"
#include <limits>
using namespace rapt::ptx;

namespace {

using Execute = Outcome (*)(Execution &);

template <typename T, typename Function> Outcome unary(Execution &e, Function function) {
  Lanes<T> a = read<T>(e, e.operand(1)), result;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = T(function(a[lane]));
  write(e, e.operand(0), result);
  return Outcome::Next;
}

template <typename T, typename Function> Outcome binary(Execution &e, Function function) {
  Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2)), result;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = T(function(a[lane], b[lane]));
  write(e, e.operand(0), result);
  return Outcome::Next;
}

/// Twice as many bits, of the same sign.
template <typename T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

/// Arithmetic wraps: it is done without a sign.
template <typename T> struct Integer {
  using U = std::make_unsigned_t<T>;
  static constexpr unsigned bits = sizeof(T) * 8;

  static Outcome add(Execution &e) {
    return binary<U>(e, [](U a, U b) { return uint64_t(a) + b; });
  }
  static Outcome sub(Execution &e) {
    return binary<U>(e, [](U a, U b) { return uint64_t(a) - b; });
  }
  static Outcome mulLow(Execution &e) {
    return binary<U>(e, [](U a, U b) { return uint64_t(a) * b; });
  }
  static Outcome mulHigh(Execution &e) {
    return binary<T>(e, [](T a, T b) { return T(Wide<T>(a) * Wide<T>(b) >> bits); });
  }
  static Outcome mulWide(Execution &e) {
    if constexpr (sizeof(T) < 8) {
      Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2));
      Lanes<Wide<T>> result;
      for (unsigned lane = 0; lane < warpSize; ++lane)
        result[lane] = Wide<T>(a[lane]) * Wide<T>(b[lane]);
      write(e, e.operand(0), result);
    }
    return Outcome::Next;
  }
  static Outcome madLow(Execution &e) {
    Lanes<U> a = read<U>(e, e.operand(1)), b = read<U>(e, e.operand(2)), c = read<U>(e, e.operand(3));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      a[lane] = U(uint64_t(a[lane]) * b[lane] + c[lane]);
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static Outcome madHigh(Execution &e) {
    Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2)), c = read<T>(e, e.operand(3));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      a[lane] = T(U(T(Wide<T>(a[lane]) * Wide<T>(b[lane]) >> bits)) + U(c[lane]));
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static Outcome madWide(Execution &e) {
    if constexpr (sizeof(T) < 8) {
      using W = std::make_unsigned_t<Wide<T>>;
      Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2));
      Lanes<W> c = read<W>(e, e.operand(3));
      for (unsigned lane = 0; lane < warpSize; ++lane)
        c[lane] += W(Wide<T>(a[lane]) * Wide<T>(b[lane]));
      write(e, e.operand(0), c);
    }
    return Outcome::Next;
  }
  /// A division by zero gives all ones, as on the hardware; PTX leaves it open.
  static Outcome div(Execution &e) {
    return binary<T>(e, [](T a, T b) { return b == 0 ? T(-1) : overflows(a, b) ? a : T(a / b); });
  }
  static Outcome rem(Execution &e) {
    return binary<T>(e, [](T a, T b) { return b == 0 ? a : overflows(a, b) ? T(0) : T(a % b); });
  }
  static bool overflows(T a, T b) { return std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == T(-1); }
  static Outcome min(Execution &e) {
    return binary<T>(e, [](T a, T b) { return a < b ? a : b; });
  }
  static Outcome max(Execution &e) {
    return binary<T>(e, [](T a, T b) { return a > b ? a : b; });
  }
  /// Results below 0 become 0.
  static Outcome minRelu(Execution &e) {
    return binary<T>(e, [](T a, T b) { return std::max(T(0), std::min(a, b)); });
  }
  static Outcome maxRelu(Execution &e) {
    return binary<T>(e, [](T a, T b) { return std::max(T(0), std::max(a, b)); });
  }
  static Outcome abs(Execution &e) {
    return unary<T>(e, [](T a) { return T(a < 0 ? U(0) - U(a) : U(a)); });
  }
  static Outcome neg(Execution &e) {
    return unary<U>(e, [](U a) { return U(0) - a; });
  }
  static Outcome sad(Execution &e) {
    Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2));
    Lanes<U> c = read<U>(e, e.operand(3));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      c[lane] = U(c[lane] + (a[lane] < b[lane] ? U(b[lane]) - U(a[lane]) : U(a[lane]) - U(b[lane])));
    write(e, e.operand(0), c);
    return Outcome::Next;
  }
};

/// Picks the function of a type's template.
template <template <typename> class Group, typename Pick> Execute pick(Type type, Pick pick) {
  switch (type) {
  case Type::U16:
    return pick(Group<uint16_t>());
  case Type::S16:
    return pick(Group<int16_t>());
  case Type::U32:
    return pick(Group<uint32_t>());
  case Type::S32:
    return pick(Group<int32_t>());
  case Type::U64:
    return pick(Group<uint64_t>());
  case Type::S64:
    return pick(Group<int64_t>());
  default:
    return nullptr;
  }
}
#define RAPT_PICK(name) pick<Integer>(type, [](auto group) -> Execute { return decltype(group)::name; })

/// dp4a: a dot product of four bytes, added to c.
template <typename A, typename B> Outcome dp4a(Execution &e) {
  Lanes<uint32_t> a = read<uint32_t>(e, e.operand(1)), b = read<uint32_t>(e, e.operand(2)),
                  c = read<uint32_t>(e, e.operand(3));
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned byte = 0; byte < 4; ++byte)
      c[lane] += uint32_t(int32_t(A(a[lane] >> 8 * byte)) * int32_t(B(b[lane] >> 8 * byte)));
  write(e, e.operand(0), c);
  return Outcome::Next;
}

bool decodeDp4a(Suffixes &suffixes, Instruction &instruction) {
  Type a = suffixes.takeType(), b = suffixes.takeType();
  if ((a != Type::U32 && a != Type::S32) || (b != Type::U32 && b != Type::S32))
    return false;
  instruction.execute = a == Type::S32 ? (b == Type::S32 ? dp4a<int8_t, int8_t> : dp4a<int8_t, uint8_t>)
                                       : (b == Type::S32 ? dp4a<uint8_t, int8_t> : dp4a<uint8_t, uint8_t>);
  return instruction.operands.size() == 4;
}

} // namespace

bool rapt::ptx::decodeIntegers(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "dp4a")
    return decodeDp4a(suffixes, instruction);
  bool isProduct = root == "mul" || root == "mad";
  size_t part = isProduct ? suffixes.takeOneOf({"lo", "hi", "wide"}).value_or(3) : 0;
  const bool isRelu = (root == "min" || root == "max") && suffixes.takeOneOf({"relu"});
  Type type = suffixes.takeType();
  if (isRelu && type != Type::S32)
    return false;
  size_t operands = root == "mad" || root == "sad" ? 4 : root == "abs" || root == "neg" ? 2 : 3;
  if (part == 3 || instruction.operands.size() != operands)
    return false;
  Execute product[] = {RAPT_PICK(mulLow), RAPT_PICK(mulHigh), RAPT_PICK(mulWide)},
          sum[] = {RAPT_PICK(madLow), RAPT_PICK(madHigh), RAPT_PICK(madWide)};
  instruction.execute = root == "mul"   ? product[part]
                        : root == "mad" ? sum[part]
                        : root == "add" ? RAPT_PICK(add)
                        : root == "sub" ? RAPT_PICK(sub)
                        : root == "div" ? RAPT_PICK(div)
                        : root == "rem" ? RAPT_PICK(rem)
                        : root == "min" ? (isRelu ? RAPT_PICK(minRelu) : RAPT_PICK(min))
                        : root == "max" ? (isRelu ? RAPT_PICK(maxRelu) : RAPT_PICK(max))
                        : root == "abs" ? RAPT_PICK(abs)
                        : root == "neg" ? RAPT_PICK(neg)
                        : root == "sad" ? RAPT_PICK(sad)
                                        : nullptr;
  return instruction.execute && !(part == 2 && sizeOf(type) == 8);
}
