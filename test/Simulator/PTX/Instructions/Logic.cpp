//===- Logic.cpp - Bits, shifts and bytes ---------------------------------------===//
//
// Source: PTX ISA 9.7.1 (bit fields), 9.7.8 (logic and shift).
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

using Execute = Outcome (*)(Execution &);
enum Operation : uint8_t { And, Or, Xor };

uint64_t combine(uint8_t operation, uint64_t a, uint64_t b) {
  return operation == And ? a & b : operation == Or ? a | b : a ^ b;
}

Outcome predicates(Execution &e) {
  LaneMask a = readPredicate(e, e.operand(1)), b = readPredicate(e, e.operand(2));
  writePredicate(e, e.operand(0), LaneMask(combine(e.instruction.operation, a, b)));
  return Outcome::Next;
}

Outcome notPredicate(Execution &e) {
  writePredicate(e, e.operand(0), ~readPredicate(e, e.operand(1)));
  return Outcome::Next;
}

template <typename U> struct Bits {
  using S = std::make_signed_t<U>;
  static constexpr unsigned bits = sizeof(U) * 8;

  template <typename Function> static Outcome unary(Execution &e, Function function) {
    Lanes<U> a = read<U>(e, e.operand(1));
    for (U &value : a)
      value = function(value);
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static Outcome logic(Execution &e) {
    Lanes<U> a = read<U>(e, e.operand(1)), b = read<U>(e, e.operand(2));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      a[lane] = U(combine(e.instruction.operation, a[lane], b[lane]));
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static Outcome invert(Execution &e) {
    return unary(e, [](U a) { return U(~a); });
  }
  static Outcome isZero(Execution &e) {
    return unary(e, [](U a) { return U(a == 0); });
  }
  static Outcome reverse(Execution &e) {
    return unary(e, [](U a) {
      U result = 0;
      for (unsigned bit = 0; bit < bits; ++bit)
        result |= U((a >> bit & 1) << (bits - 1 - bit));
      return result;
    });
  }
  template <typename Function> static Outcome count(Execution &e, Function function) {
    Lanes<U> a = read<U>(e, e.operand(1));
    Lanes<uint32_t> result;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      result[lane] = uint32_t(function(a[lane]));
    write(e, e.operand(0), result);
    return Outcome::Next;
  }
  static Outcome ones(Execution &e) {
    return count(e, [](U a) { return std::popcount(a); });
  }
  static Outcome leadingZeros(Execution &e) {
    return count(e, [](U a) { return std::countl_zero(a); });
  }
  /// The highest bit that differs from the sign; -1 if there is none.
  static Outcome findBit(Execution &e) {
    return count(e, [&](U a) {
      U value = isSigned(e.instruction.type) && S(a) < 0 ? U(~a) : a;
      int position = int(bits) - 1 - std::countl_zero(value);
      return e.instruction.flags && position >= 0 ? int(bits) - 1 - position : position;
    });
  }
  static Outcome shiftLeft(Execution &e) {
    return shift(e, [](U a, uint32_t by) { return by >= bits ? U(0) : U(a << by); });
  }
  static Outcome shiftRight(Execution &e) {
    return shift(e, [](U a, uint32_t by) { return by >= bits ? U(0) : U(a >> by); });
  }
  static Outcome shiftRightSigned(Execution &e) {
    return shift(e, [](U a, uint32_t by) { return U(S(a) >> std::min(by, bits - 1)); });
  }
  template <typename Function> static Outcome shift(Execution &e, Function function) {
    Lanes<U> a = read<U>(e, e.operand(1));
    Lanes<uint32_t> by = read<uint32_t>(e, e.operand(2));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      a[lane] = function(a[lane], by[lane]);
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static Outcome extract(Execution &e) {
    Lanes<U> a = read<U>(e, e.operand(1));
    Lanes<uint32_t> position = read<uint32_t>(e, e.operand(2)), length = read<uint32_t>(e, e.operand(3));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      a[lane] = extract(a[lane], position[lane] & 255, length[lane] & 255, isSigned(e.instruction.type));
    write(e, e.operand(0), a);
    return Outcome::Next;
  }
  static U extract(U a, uint32_t position, uint32_t length, bool isSigned) {
    if (length == 0)
      return 0;
    uint32_t last = std::min(position + length - 1, bits - 1);
    U sign = isSigned && (a >> last & 1) ? U(~U(0)) : U(0), result = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      U value = bit < length && position + bit < bits ? U(a >> (position + bit) & 1) : U(sign & 1);
      result |= U(value << bit);
    }
    return result;
  }
  static Outcome insert(Execution &e) {
    Lanes<U> a = read<U>(e, e.operand(1)), b = read<U>(e, e.operand(2));
    Lanes<uint32_t> position = read<uint32_t>(e, e.operand(3)), length = read<uint32_t>(e, e.operand(4));
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (uint32_t bit = 0, at = position[lane] & 255; bit < (length[lane] & 255) && at < bits; ++bit, ++at)
        b[lane] = U((b[lane] & ~(U(1) << at)) | (a[lane] >> bit & 1) << at);
    write(e, e.operand(0), b);
    return Outcome::Next;
  }
};

template <typename Pick> Execute pick(unsigned size, Pick pick) {
  return size == 2   ? pick(Bits<uint16_t>())
         : size == 4 ? pick(Bits<uint32_t>())
         : size == 8 ? pick(Bits<uint64_t>())
                     : nullptr;
}
#define RAPT_PICK(name) pick(size, [](auto group) -> Execute { return decltype(group)::name; })

template <typename Function> Outcome ternary(Execution &e, Function function) {
  Lanes<uint32_t> a = read<uint32_t>(e, e.operand(1)), b = read<uint32_t>(e, e.operand(2)),
                  c = read<uint32_t>(e, e.operand(3));
  for (unsigned lane = 0; lane < warpSize; ++lane)
    a[lane] = function(a[lane], b[lane], c[lane]);
  write(e, e.operand(0), a);
  return Outcome::Next;
}

/// Any function of three bits, by its table of eight.
Outcome lop3(Execution &e) {
  uint64_t table = e.operand(4).value;
  return ternary(e, [&](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
      result |= uint32_t(table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1) << bit;
    return result;
  });
}

/// Four bytes of eight, each chosen by a nibble; its high bit takes the byte's sign.
Outcome permute(Execution &e) {
  return ternary(e, [](uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (unsigned byte = 0; byte < 4; ++byte) {
      uint32_t choice = selector >> 4 * byte & 15;
      uint8_t value = uint8_t(bytes >> 8 * (choice & 7));
      result |= uint32_t(choice & 8 ? uint8_t(int8_t(value) >> 7) : value) << 8 * byte;
    }
    return result;
  });
}

/// shf: a shift of the pair b:a.
Outcome funnelShift(Execution &e) {
  bool isLeft = e.instruction.operation == 0, clamps = e.instruction.flags;
  return ternary(e, [&](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t by = clamps ? std::min(c, 32u) : c & 31;
    uint64_t both = uint64_t(b) << 32 | a;
    return uint32_t(isLeft ? both << by >> 32 : both >> by);
  });
}

Execute shiftRight(Type type, unsigned size) {
  return isSigned(type) ? RAPT_PICK(shiftRightSigned) : RAPT_PICK(shiftRight);
}

bool decodeFunnelShift(Suffixes &suffixes, Instruction &instruction) {
  instruction.operation = uint8_t(suffixes.takeOneOf({"l", "r"}).value_or(2));
  std::optional<size_t> mode = suffixes.takeOneOf({"wrap", "clamp"});
  instruction.flags = mode.value_or(0);
  instruction.execute = funnelShift;
  return mode && instruction.operation < 2 && suffixes.take("b32");
}

} // namespace

bool rapt::ptx::decodeLogic(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "shf")
    return decodeFunnelShift(suffixes, instruction);
  instruction.flags = root == "bfind" && suffixes.take("shiftamt");
  Type type = instruction.type = suffixes.takeType();
  unsigned size = sizeOf(type);
  size_t operands = instruction.operands.size();
  if (root == "and" || root == "or" || root == "xor") {
    instruction.operation = root == "and" ? And : root == "or" ? Or : Xor;
    instruction.execute = type == Type::Pred ? predicates : RAPT_PICK(logic);
    return operands == 3;
  }
  if (root == "lop3" || root == "prmt") {
    instruction.execute = root == "lop3" ? lop3 : permute;
    return type == Type::B32 && operands == (root == "lop3" ? 5 : 4);
  }
  if (root == "bfe" || root == "bfi") {
    instruction.execute = root == "bfe" ? RAPT_PICK(extract) : RAPT_PICK(insert);
    return size >= 4 && operands == (root == "bfe" ? 4 : 5);
  }
  if (root == "shl" || root == "shr") {
    instruction.execute = root == "shl" ? RAPT_PICK(shiftLeft) : shiftRight(type, size);
    return operands == 3;
  }
  instruction.execute = root == "not"     ? (type == Type::Pred ? notPredicate : RAPT_PICK(invert))
                        : root == "cnot"  ? RAPT_PICK(isZero)
                        : root == "brev"  ? RAPT_PICK(reverse)
                        : root == "popc"  ? RAPT_PICK(ones)
                        : root == "clz"   ? RAPT_PICK(leadingZeros)
                        : root == "bfind" ? RAPT_PICK(findBit)
                                          : nullptr;
  return operands == 2;
}
