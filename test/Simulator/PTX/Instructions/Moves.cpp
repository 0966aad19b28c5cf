//===- Moves.cpp - mov, cvta and isspacep ------------------------------------------===//
//
// Source: PTX ISA 9.7.9.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/GlobalMemory.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

template <typename T> Outcome move(Execution &e) {
  write(e, e.operand(0), read<T>(e, e.operand(1)));
  return Outcome::Next;
}

Outcome movePredicate(Execution &e) {
  writePredicate(e, e.operand(0), readPredicate(e, e.operand(1)));
  return Outcome::Next;
}

/// A register from the parts of a vector, low part first.
Outcome pack(Execution &e) {
  const std::vector<Operand> &parts = e.operand(1).elements;
  unsigned bits = unsigned(8 * sizeOf(e.instruction.type) / parts.size());
  Lanes<uint64_t> result{};
  for (size_t part = 0; part < parts.size(); ++part) {
    Lanes<uint64_t> values = read<uint64_t>(e, parts[part]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      result[lane] |= (values[lane] & ~uint64_t(0) >> (64 - bits)) << part * bits;
  }
  if (sizeOf(e.instruction.type) == 8)
    write(e, e.operand(0), result);
  else {
    Lanes<uint32_t> narrow;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      narrow[lane] = uint32_t(result[lane]);
    write(e, e.operand(0), narrow);
  }
  return Outcome::Next;
}

template <typename T>
void writePart(Execution &e, const Operand &operand, const Lanes<uint64_t> &values, unsigned shift) {
  Lanes<T> part;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    part[lane] = T(values[lane] >> shift);
  write(e, operand, part);
}

/// The parts of a register.
Outcome unpack(Execution &e) {
  const std::vector<Operand> &parts = e.operand(0).elements;
  unsigned size = unsigned(sizeOf(e.instruction.type) / parts.size());
  Lanes<uint64_t> values = read<uint64_t>(e, e.operand(1));
  for (size_t part = 0; part < parts.size(); ++part) {
    unsigned shift = unsigned(8 * size * part);
    if (size == 1)
      writePart<uint8_t>(e, parts[part], values, shift);
    else if (size == 2)
      writePart<uint16_t>(e, parts[part], values, shift);
    else
      writePart<uint32_t>(e, parts[part], values, shift);
  }
  return Outcome::Next;
}

/// 128 bits as two halves of 64.
Outcome move128(Execution &e) {
  using Wide = std::array<uint64_t, 2>;
  const Operand &to = e.operand(0), &from = e.operand(1);
  Lanes<Wide> values;
  if (from.kind == Operand::Kind::Vector) {
    Lanes<uint64_t> low = read<uint64_t>(e, from.elements[0]), high = read<uint64_t>(e, from.elements[1]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      values[lane] = {low[lane], high[lane]};
  } else {
    values = readRegister<Wide>(e, from);
  }
  if (to.kind != Operand::Kind::Vector) {
    write(e, to, values);
    return Outcome::Next;
  }
  for (unsigned half : {0u, 1u}) {
    Lanes<uint64_t> part;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      part[lane] = values[lane][half];
    write(e, to.elements[half], part);
  }
  return Outcome::Next;
}

uint64_t windowOf(Space space) {
  return space == Space::Shared  ? sharedWindow
         : space == Space::Local ? localWindow
         : space == Space::Param ? paramWindow
                                 : 0;
}

/// cvta: between an address of a space and a generic one.
Outcome convertAddress(Execution &e) {
  Lanes<uint64_t> addresses = read<uint64_t>(e, e.operand(1));
  uint64_t window = windowOf(e.instruction.space);
  for (uint64_t &address : addresses)
    address = e.instruction.flags ? address - window : address + window;
  write(e, e.operand(0), addresses);
  return Outcome::Next;
}

Outcome isInSpace(Execution &e) {
  Lanes<uint64_t> addresses = read<uint64_t>(e, e.operand(1));
  LaneMask result = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t address = addresses[lane], window = windowOf(e.instruction.space);
    bool isInside = window ? address - window < windowSize : address >= globalBegin;
    result |= LaneMask(isInside) << lane;
  }
  writePredicate(e, e.operand(0), result);
  return Outcome::Next;
}

bool decodeMove(Suffixes &suffixes, Instruction &instruction) {
  Type type = instruction.type = suffixes.takeType();
  if (instruction.operands.size() != 2)
    return false;
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  auto fits = [&](const Operand &operand) {
    size_t parts = operand.elements.size();
    return operand.kind != Operand::Kind::Vector || ((parts == 2 || parts == 4) && sizeOf(type) / parts >= 1);
  };
  if (!fits(to) || !fits(from))
    return false;
  if (type == Type::Pred)
    instruction.execute = movePredicate;
  else if (type == Type::B128)
    instruction.execute = move128;
  else if (from.kind == Operand::Kind::Vector)
    instruction.execute = pack;
  else if (to.kind == Operand::Kind::Vector)
    instruction.execute = unpack;
  else
    instruction.execute = sizeOf(type) == 2   ? move<uint16_t>
                          : sizeOf(type) == 4 ? move<uint32_t>
                          : sizeOf(type) == 8 ? move<uint64_t>
                                              : nullptr;
  return true;
}

} // namespace

bool rapt::ptx::decodeMoves(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "mov")
    return decodeMove(suffixes, instruction);
  if (root == "cvta") {
    instruction.flags = suffixes.take("to");
    instruction.space = suffixes.takeSpace();
    instruction.execute = convertAddress;
    return instruction.space != Space::Generic && suffixes.take("u64") && instruction.operands.size() == 2;
  }
  if (root == "isspacep") {
    instruction.space = suffixes.takeSpace();
    instruction.execute = isInSpace;
    return instruction.space != Space::Generic && instruction.operands.size() == 2;
  }
  return false;
}
