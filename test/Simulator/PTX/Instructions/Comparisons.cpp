//===- Comparisons.cpp - Comparisons and selections ----------------------------===//
//
// Source: PTX ISA 9.7.6 and 9.7.7.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

using Execute = Outcome (*)(Execution &);

enum Relation : uint8_t { Equal, Differ, Less, LessEqual, Greater, GreaterEqual, Number, NotNumber };

/// A comparison by its name, and whether it is true of a NaN.
struct Comparison {
  std::string_view name;
  Relation relation;
  bool isTrueOfNaN = false;
};
constexpr Comparison comparisons[] = {{"eq", Equal},          {"ne", Differ},
                                      {"lt", Less},           {"le", LessEqual},
                                      {"gt", Greater},        {"ge", GreaterEqual},
                                      {"lo", Less},           {"ls", LessEqual},
                                      {"hi", Greater},        {"hs", GreaterEqual},
                                      {"num", Number},        {"nan", NotNumber, true},
                                      {"equ", Equal, true},   {"neu", Differ, true},
                                      {"ltu", Less, true},    {"leu", LessEqual, true},
                                      {"gtu", Greater, true}, {"geu", GreaterEqual, true}};

template <typename T> bool holds(Relation relation, T a, T b) {
  switch (relation) {
  case Equal:
    return a == b;
  case Differ:
    return a != b;
  case Less:
    return a < b;
  case LessEqual:
    return a <= b;
  case Greater:
    return a > b;
  case GreaterEqual:
    return a >= b;
  case Number:
    return true;
  case NotNumber:
    return false;
  }
  return false;
}

template <typename T> LaneMask compareIntegers(Execution &e) {
  Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2));
  Relation relation = comparisons[e.instruction.operation].relation;
  LaneMask result = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result |= LaneMask(holds(relation, a[lane], b[lane])) << lane;
  return result;
}

template <typename Format> LaneMask compareFloats(Execution &e) {
  using Bits = typename Format::Bits;
  Lanes<Bits> a = read<Bits>(e, e.operand(1)), b = read<Bits>(e, e.operand(2));
  const Comparison &comparison = comparisons[e.instruction.operation];
  LaneMask result = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    auto x = Format::decode(a[lane]), y = Format::decode(b[lane]);
    if (e.instruction.flushes) {
      x = std::fpclassify(x) == FP_SUBNORMAL ? 0 : x;
      y = std::fpclassify(y) == FP_SUBNORMAL ? 0 : y;
    }
    bool isNaN = std::isnan(x) || std::isnan(y);
    result |= LaneMask(isNaN ? comparison.isTrueOfNaN : holds(comparison.relation, x, y)) << lane;
  }
  return result;
}

LaneMask compare(Execution &e) {
  switch (e.instruction.type) {
  case Type::B16:
  case Type::U16:
    return compareIntegers<uint16_t>(e);
  case Type::S16:
    return compareIntegers<int16_t>(e);
  case Type::B32:
  case Type::U32:
    return compareIntegers<uint32_t>(e);
  case Type::S32:
    return compareIntegers<int32_t>(e);
  case Type::B64:
  case Type::U64:
    return compareIntegers<uint64_t>(e);
  case Type::S64:
    return compareIntegers<int64_t>(e);
  case Type::F16:
    return compareFloats<FormatF16>(e);
  case Type::BF16:
    return compareFloats<FormatBF16>(e);
  case Type::F32:
    return compareFloats<FormatF32>(e);
  default:
    return compareFloats<FormatF64>(e);
  }
}

LaneMask combine(uint64_t operation, LaneMask a, LaneMask b) {
  return operation == 1 ? a & b : operation == 2 ? a | b : operation == 3 ? a ^ b : a;
}

/// setp: a predicate, and its opposite where a second one is named; combined with a third.
Outcome setPredicate(Execution &e) {
  LaneMask result = compare(e), other = ~result;
  if (uint64_t operation = e.instruction.flags) {
    LaneMask with = readPredicate(e, e.operand(3));
    result = combine(operation, result, with);
    other = combine(operation, other, with);
  }
  const Operand &destination = e.operand(0);
  if (destination.kind == Operand::Kind::Pair) {
    writePredicate(e, destination.elements[0], result);
    writePredicate(e, destination.elements[1], other);
  } else {
    writePredicate(e, destination, result);
  }
  return Outcome::Next;
}

/// set: all ones, or 1.0, where the comparison holds.
Outcome setValue(Execution &e) {
  LaneMask result = compare(e);
  if (uint64_t operation = e.instruction.flags)
    result = combine(operation, result, readPredicate(e, e.operand(3)));
  Lanes<uint32_t> values;
  uint32_t isTrue = e.instruction.sourceType == Type::F32 ? 0x3f800000 : ~uint32_t(0);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    values[lane] = result >> lane & 1 ? isTrue : 0;
  write(e, e.operand(0), values);
  return Outcome::Next;
}

/// The lanes of `lanes` in which an operand has a value.
LaneMask written(const Execution &e, const Operand &operand, LaneMask lanes) {
  return operand.kind == Operand::Kind::Register ? lanes & e.warp.valid[operand.index] : lanes;
}

/// selp. LLVM selects between a value and a register that nobody writes where the latter is never chosen, or where it
/// does not matter. Such a result has no value, which is reported where it is used.
template <typename T> Outcome select(Execution &e) {
  const LaneMask lanes = e.lanes, condition = readPredicate(e, e.operand(3));
  const LaneMask first = written(e, e.operand(1), lanes & condition),
                 second = written(e, e.operand(2), lanes & ~condition);
  e.lanes = first;
  Lanes<T> a = read<T>(e, e.operand(1));
  e.lanes = second;
  Lanes<T> b = read<T>(e, e.operand(2));
  e.lanes = lanes;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    a[lane] = condition >> lane & 1 ? a[lane] : b[lane];
  write(e, e.operand(0), a);
  if (const LaneMask missing = lanes & ~(first | second))
    e.warp.valid[e.operand(0).index] &= ~missing;
  return Outcome::Next;
}

/// slct: a where c >= 0.
template <typename T> Outcome selectBySign(Execution &e) {
  Lanes<T> a = read<T>(e, e.operand(1)), b = read<T>(e, e.operand(2));
  Lanes<uint32_t> c = read<uint32_t>(e, e.operand(3));
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    bool takesFirst =
        e.instruction.sourceType == Type::F32 ? std::bit_cast<float>(c[lane]) >= 0 : int32_t(c[lane]) >= 0;
    a[lane] = takesFirst ? a[lane] : b[lane];
  }
  write(e, e.operand(0), a);
  return Outcome::Next;
}

bool takeComparison(Suffixes &suffixes, Instruction &instruction) {
  size_t place = 0;
  while (place < std::size(comparisons) && !suffixes.take(comparisons[place].name))
    ++place;
  instruction.operation = uint8_t(place);
  std::optional<size_t> operation = suffixes.takeOneOf({"and", "or", "xor"});
  instruction.flags = operation ? *operation + 1 : 0;
  instruction.flushes = suffixes.take("ftz");
  return place < std::size(comparisons) && instruction.operands.size() == (operation ? 4u : 3u);
}

} // namespace

bool rapt::ptx::decodeComparisons(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "setp" || root == "set") {
    if (!takeComparison(suffixes, instruction))
      return false;
    if (root == "set")
      instruction.sourceType = suffixes.takeType();
    instruction.type = suffixes.takeType();
    instruction.execute = root == "setp" ? setPredicate : setValue;
    return sizeOf(instruction.type) >= 2 && (root == "setp" || sizeOf(instruction.sourceType) == 4);
  }
  Type type = suffixes.takeType();
  unsigned size = sizeOf(type);
  if (root == "selp" && instruction.operands.size() == 4)
    instruction.execute = size == 2   ? select<uint16_t>
                          : size == 4 ? select<uint32_t>
                          : size == 8 ? select<uint64_t>
                                      : nullptr;
  if (root == "slct" && instruction.operands.size() == 4) {
    instruction.sourceType = suffixes.takeType();
    instruction.execute = size == 4 ? selectBySign<uint32_t> : size == 8 ? selectBySign<uint64_t> : nullptr;
  }
  return instruction.execute != nullptr;
}
