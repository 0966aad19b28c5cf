//===- Memory.cpp - ld and st --------------------------------------------------------===//
//
// Source: PTX ISA 9.7.9, ld, st and prefetch.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Sync.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

enum Order : uint8_t { Weak, Relaxed, Release, Acquire };

std::span<const Operand> elementsOf(const Operand &operand) {
  return operand.kind == Operand::Kind::Vector ? std::span<const Operand>(operand.elements) : std::span(&operand, 1);
}

/// Bytes of one thread's vector access: at most 32.
using Bytes = std::array<std::byte, 32>;

template <typename T> void writeElement(Execution &e, const Operand &operand, const Lanes<Bytes> &bytes, size_t place) {
  Lanes<T> values;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    std::memcpy(&values[lane], bytes[lane].data() + place * sizeof(T), sizeof(T));
  write(e, operand, values);
}

void writeElement(Execution &e, const Operand &operand, const Lanes<Bytes> &bytes, size_t place) {
  Type type = e.instruction.type;
  switch (sizeOf(type)) {
  case 1:
    return isSigned(type) ? writeElement<int8_t>(e, operand, bytes, place)
                          : writeElement<uint8_t>(e, operand, bytes, place);
  case 2:
    return isSigned(type) ? writeElement<int16_t>(e, operand, bytes, place)
                          : writeElement<uint16_t>(e, operand, bytes, place);
  case 4:
    return isSigned(type) ? writeElement<int32_t>(e, operand, bytes, place)
                          : writeElement<uint32_t>(e, operand, bytes, place);
  case 8:
    return writeElement<uint64_t>(e, operand, bytes, place);
  default:
    return writeElement<std::array<uint64_t, 2>>(e, operand, bytes, place);
  }
}

/// Reads a thread's own memory: lanes whose bytes of an element have no value are added to the element's mask.
void loadLocal(Execution &e, uint64_t address, std::span<std::byte> bytes, unsigned lane,
               std::span<LaneMask> undefined) {
  Place place = locate(e, Space::Local, address, bytes.size(), bytes.size(), lane);
  if (!place)
    return;
  std::memcpy(bytes.data(), place.data, bytes.size());
  const size_t size = bytes.size() / undefined.size();
  for (size_t i = 0; i < undefined.size(); ++i)
    if (!place.shadow->isWritten(place.offset + i * size, size))
      undefined[i] |= LaneMask(1) << lane;
}

/// The elements of a lane that a store to its own memory had no value for have none there either.
void forgetLocal(Execution &e, uint64_t address, size_t size, unsigned lane, std::span<const LaneMask> undefined) {
  Place place = locate(e, Space::Local, address, size, size, lane);
  for (size_t i = 0; place && i < undefined.size(); ++i)
    if (undefined[i] >> lane & 1)
      place.shadow->forget(place.offset + i * (size / undefined.size()), size / undefined.size());
}

Outcome loadValues(Execution &e) {
  std::span<const Operand> elements = elementsOf(e.operand(0));
  size_t size = elements.size() * sizeOf(e.instruction.type);
  Lanes<uint64_t> addresses = readAddress(e, e.operand(1));
  Lanes<Bytes> bytes{};
  std::array<LaneMask, 8> undefined{};
  const bool isLocal = e.instruction.space == Space::Local;
  forEachLane(e.lanes, [&](unsigned lane) {
    if (isLocal)
      return loadLocal(e, addresses[lane], std::span(bytes[lane]).first(size), lane,
                       std::span(undefined).first(elements.size()));
    load(e, e.instruction.space, addresses[lane], std::span(bytes[lane]).first(size), lane);
    if (e.instruction.operation == Acquire)
      acquireFrom(e, addresses[lane]);
  });
  for (size_t place = 0; place < elements.size(); ++place) {
    e.undefined = undefined[place];
    writeElement(e, elements[place], bytes, place);
  }
  return Outcome::Next;
}

Outcome storeValues(Execution &e) {
  std::span<const Operand> elements = elementsOf(e.operand(1));
  unsigned elementSize = sizeOf(e.instruction.type);
  Lanes<uint64_t> addresses = readAddress(e, e.operand(0));
  Lanes<Bytes> bytes{};
  std::array<LaneMask, 8> undefined{};
  e.takesUndefined = e.instruction.space == Space::Local;
  for (size_t place = 0; place < elements.size(); ++place) {
    e.undefined = 0;
    if (elementSize == 16) {
      auto values = readRegister<std::array<uint64_t, 2>>(e, elements[place]);
      for (unsigned lane = 0; lane < warpSize; ++lane)
        std::memcpy(bytes[lane].data() + place * elementSize, &values[lane], elementSize);
      undefined[place] = e.undefined;
      continue;
    }
    Lanes<uint64_t> values = read<uint64_t>(e, elements[place]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      std::memcpy(bytes[lane].data() + place * elementSize, &values[lane], elementSize);
    undefined[place] = e.undefined;
  }
  forEachLane(e.lanes, [&](unsigned lane) {
    if (e.instruction.operation == Release)
      releaseTo(e, addresses[lane]);
    const size_t size = elements.size() * elementSize;
    store(e, e.instruction.space, addresses[lane], std::span(bytes[lane]).first(size), lane);
    if (e.takesUndefined)
      forgetLocal(e, addresses[lane], size, lane, std::span(undefined).first(elements.size()));
  });
  return Outcome::Next;
}

Outcome nothing(Execution &) { return Outcome::Next; }

/// Suffixes of ld and st up to the vector's length: order, scope, space, caching.
void takeQualifiers(Suffixes &suffixes, Instruction &instruction) {
  std::optional<size_t> order = suffixes.takeOneOf({"weak", "relaxed", "release", "acquire", "volatile"});
  instruction.operation = uint8_t(order.value_or(0) % 4);
  suffixes.takeOneOf({"cta", "cluster", "gpu", "sys"});
  instruction.space = suffixes.takeSpace();
  suffixes.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  suffixes.take("nc");
  while (suffixes.takeRest("L1::") || suffixes.takeRest("L2::")) {
  }
  suffixes.take("nc");
}

} // namespace

bool rapt::ptx::decodeMemory(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "prefetch" || root == "prefetchu" || root == "applypriority" || root == "discard") {
    suffixes.takeSpace();
    while (!suffixes.isDone())
      suffixes.takeRest("");
    instruction.execute = nothing;
    return true;
  }
  if (root != "ld" && root != "ldu" && root != "st")
    return false;
  takeQualifiers(suffixes, instruction);
  std::optional<size_t> length = suffixes.takeOneOf({"v2", "v4", "v8"});
  instruction.type = suffixes.takeType();
  if (instruction.operands.size() < 2) // a third one is a cache policy
    return false;
  bool isStore = root == "st";
  const Operand &value = instruction.operands[isStore], &address = instruction.operands[!isStore];
  size_t elements = elementsOf(value).size();
  instruction.execute = isStore ? storeValues : loadValues;
  return address.kind == Operand::Kind::Address && sizeOf(instruction.type) &&
         elements == (length ? size_t(2) << *length : 1) && elements * sizeOf(instruction.type) <= 32;
}
