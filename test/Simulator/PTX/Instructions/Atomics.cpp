//===- Atomics.cpp - atom and red ----------------------------------------------------===//
//
// Source: PTX ISA 9.7.13, atom and red.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/Sync.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

enum Operation : uint8_t { Add, Min, Max, And, Or, Xor, Exchange, CompareAndSwap, Increment, Decrement };
enum Flags : uint64_t { Acquires = 1, Releases = 2 };

template <typename T> T combineIntegers(uint8_t operation, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
  case Add:
    return T(U(a) + U(b));
  case Min:
    return std::min(a, b);
  case Max:
    return std::max(a, b);
  case And:
    return a & b;
  case Or:
    return a | b;
  case Xor:
    return a ^ b;
  case Increment:
    return a >= b ? 0 : a + 1;
  case Decrement:
    return a == 0 || a > b ? b : a - 1;
  default:
    return b;
  }
}

template <typename Format> uint64_t addFloats(uint64_t a, uint64_t b) {
  using Bits = typename Format::Bits;
  return Format::encode(Format::decode(Bits(a)) + Format::decode(Bits(b)));
}

template <typename Format> uint64_t addPairs(uint64_t a, uint64_t b) {
  return addFloats<Format>(a, b) | addFloats<Format>(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}

uint64_t combine(const Instruction &instruction, uint64_t a, uint64_t b) {
  uint8_t operation = instruction.operation;
  switch (instruction.type) {
  case Type::F16:
    return addFloats<FormatF16>(a, b);
  case Type::BF16:
    return addFloats<FormatBF16>(a, b);
  case Type::F32:
    return addFloats<FormatF32>(a, b);
  case Type::F64:
    return addFloats<FormatF64>(a, b);
  case Type::F16x2:
    return addPairs<FormatF16>(a, b);
  case Type::BF16x2:
    return addPairs<FormatBF16>(a, b);
  case Type::S32:
    return uint32_t(combineIntegers(operation, int32_t(a), int32_t(b)));
  case Type::S64:
    return uint64_t(combineIntegers(operation, int64_t(a), int64_t(b)));
  case Type::U64:
  case Type::B64:
    return combineIntegers(operation, a, b);
  default:
    return combineIntegers(operation, uint32_t(a), uint32_t(b));
  }
}

/// One lane's read and write; the value before.
uint64_t exchange(Execution &e, uint64_t address, uint64_t value, uint64_t other, unsigned lane) {
  const Instruction &instruction = e.instruction;
  unsigned size = sizeOf(instruction.type);
  if (instruction.flags & Releases || e.block.hasFenced)
    releaseTo(e, address);
  Place place = locate(e, instruction.space, address, size, size, lane);
  if (!place || !place.shadow)
    return 0;
  Accessor by = accessorOf(e, lane);
  by.isAtomic = true;
  reportConflict(e, lane, false, place.shadow->read(place.offset, size, by));
  reportConflict(e, lane, true, place.shadow->write(place.offset, size, by, e.block.launch.log.addWrite(by, false)));
  uint64_t before = 0;
  std::memcpy(&before, place.data, size);
  uint64_t after = instruction.operation == CompareAndSwap ? (before == value ? other : before)
                                                           : combine(instruction, before, value);
  std::memcpy(place.data, &after, size);
  if (instruction.flags & Acquires)
    acquireFrom(e, address);
  else
    observe(e, address);
  return before;
}

Outcome atomic(Execution &e) {
  bool isReduction = e.instruction.count == 0;
  size_t first = isReduction ? 0 : 1;
  Lanes<uint64_t> addresses = readAddress(e, e.operand(first)), values = read<uint64_t>(e, e.operand(first + 1)),
                  others{};
  unsigned unused = 64 - 8 * sizeOf(e.instruction.type);
  if (e.instruction.operation == CompareAndSwap)
    others = read<uint64_t>(e, e.operand(first + 2));
  Lanes<uint64_t> before{};
  forEachLane(e.lanes, [&](unsigned lane) {
    uint64_t value = values[lane] << unused >> unused, other = others[lane] << unused >> unused;
    before[lane] = exchange(e, addresses[lane], value, other, lane);
  });
  if (isReduction)
    return Outcome::Next;
  if (sizeOf(e.instruction.type) == 8) {
    write(e, e.operand(0), before);
    return Outcome::Next;
  }
  Lanes<uint32_t> narrow;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    narrow[lane] = uint32_t(before[lane]);
  write(e, e.operand(0), narrow);
  return Outcome::Next;
}

} // namespace

bool rapt::ptx::decodeAtomics(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  bool isReduction = suffixes.root() == "red";
  if (!isReduction && suffixes.root() != "atom")
    return false;
  std::optional<size_t> order = suffixes.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  suffixes.takeOneOf({"cta", "cluster", "gpu", "sys"});
  instruction.space = suffixes.takeSpace();
  std::optional<size_t> operation =
      suffixes.takeOneOf({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  suffixes.take("noftz");
  instruction.type = suffixes.takeType();
  if (!operation || sizeOf(instruction.type) < 2)
    return false;
  instruction.flags = order.value_or(0);
  instruction.operation = uint8_t(*operation);
  instruction.count = isReduction ? 0 : 1;
  instruction.execute = atomic;
  bool isAddable = !isFloat(instruction.type) || *operation == Add;
  return isAddable && instruction.operands.size() == size_t(isReduction ? 2 : 3) + (*operation == CompareAndSwap);
}
