//===- Access.cpp - Memory accesses of threads -------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include <cstring>
using namespace rapt::ptx;

namespace {

std::string hexadecimal(uint64_t value) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do
    text.insert(text.begin(), digits[value % 16]);
  while (value /= 16);
  return "0x" + text;
}

/// The space that a generic address names; `address` becomes one of that space.
Space resolve(uint64_t &address) {
  if (address >= globalBegin || address < sharedWindow)
    return Space::Global;
  Space space = address < localWindow ? Space::Shared : address < paramWindow ? Space::Local : Space::Param;
  address %= windowSize;
  return space;
}

Place findPlace(Execution &execution, Space space, uint64_t address, uint64_t size, unsigned lane) {
  Block &block = execution.block;
  auto isInside = [&](uint64_t begin, uint64_t end) {
    return address >= begin && address <= end && size <= end - address;
  };
  switch (space) {
  case Space::Shared:
    if (!isInside(sharedBase, block.shared.size()))
      return {};
    return {block.shared.data() + address, &block.sharedShadow, address};
  case Space::Local: {
    uint64_t bytes = block.launch.kernel.localBytes;
    if (!isInside(0, bytes) || lane >= warpSize)
      return {};
    uint64_t offset = (execution.warp.index * warpSize + lane) * bytes + address;
    return {block.local.data() + offset, &block.localShadow, offset};
  }
  case Space::Param:
    if (!isInside(0, block.launch.options.parameters.size()))
      return {};
    return {const_cast<std::byte *>(block.launch.options.parameters.data()) + address, nullptr, address};
  default: {
    GlobalMemory::Allocation *allocation = block.launch.global.find(address, size);
    if (!allocation)
      return {};
    uint64_t offset = address - allocation->address;
    return {allocation->data.data() + offset, &allocation->shadow, offset, /*isGlobal=*/true};
  }
  }
}

} // namespace

Place rapt::ptx::locate(Execution &execution, Space space, uint64_t address, uint64_t size, uint64_t alignment,
                        unsigned lane) {
  const uint64_t given = address;
  if (space == Space::Generic)
    space = resolve(address);
  if (address % alignment) {
    execution.report(FindingKind::Misaligned, lane,
                     std::string(nameOf(space)) + " address " + hexadecimal(given) + " is no multiple of " +
                         std::to_string(alignment));
    return {};
  }
  Place place = findPlace(execution, space, address, size, lane);
  if (!place)
    execution.report(FindingKind::OutOfBounds, lane,
                     std::to_string(size) + " bytes at " + std::string(nameOf(space)) + " address " +
                         hexadecimal(given) + " are outside of every allocation");
  return place;
}

Accessor rapt::ptx::accessorOf(const Execution &execution, unsigned lane) {
  const Warp &warp = execution.warp;
  Accessor by;
  by.moment = {actors::warp(warp.index), uint8_t(lane), warp.epoch};
  by.block = execution.block.number;
  by.line = execution.instruction.line;
  by.syncedEpoch = warp.syncedEpoch;
  by.warp = &warp.knowledge;
  by.lane = lane < warpSize ? warp.laneKnowledge[lane].get() : nullptr;
  by.blocks = &execution.block.knownBlocks;
  return by;
}

void rapt::ptx::reportConflict(Execution &execution, unsigned lane, bool isWrite,
                               const std::optional<Conflict> &conflict) {
  if (conflict)
    execution.report(conflict->kind, lane,
                     std::string(isWrite ? "writes " : "reads ") + conflict->text + " (offset " +
                         hexadecimal(conflict->offset) + ")");
}

/// Whether a kernel before may still run, which the warp has not waited for.
static bool isEarly(const Execution &execution, const Place &place) {
  return place.isGlobal && execution.block.launch.options.overlaps && !execution.warp.isAfterOthers;
}

void rapt::ptx::noteRead(Execution &execution, const Place &place, uint64_t size, unsigned lane) {
  if (isEarly(execution, place) && place.shadow->isOfKernels)
    execution.report(FindingKind::MissingWait, lane,
                     "reads memory that kernels write, and griddepcontrol.wait has not been executed");
  if (place.shadow)
    reportConflict(execution, lane, false, place.shadow->read(place.offset, size, accessorOf(execution, lane)));
}

uint32_t rapt::ptx::noteWrite(Execution &execution, const Place &place, uint64_t size, unsigned lane, bool isInFlight) {
  if (!place.shadow) {
    execution.report(FindingKind::Misuse, lane, "parameters cannot be written");
    return 0;
  }
  if (isEarly(execution, place))
    execution.report(FindingKind::MissingWait, lane, "writes memory, and griddepcontrol.wait has not been executed");
  place.shadow->isOfKernels = true;
  Accessor by = accessorOf(execution, lane);
  uint32_t id = execution.block.launch.log.addWrite(by, isInFlight);
  reportConflict(execution, lane, true, place.shadow->write(place.offset, size, by, id));
  return id;
}

void rapt::ptx::load(Execution &execution, Space space, uint64_t address, std::span<std::byte> bytes, unsigned lane) {
  Place place = locate(execution, space, address, bytes.size(), bytes.size(), lane);
  if (!place) {
    std::ranges::fill(bytes, std::byte(0));
    return;
  }
  noteRead(execution, place, bytes.size(), lane);
  std::memcpy(bytes.data(), place.data, bytes.size());
}

void rapt::ptx::store(Execution &execution, Space space, uint64_t address, std::span<const std::byte> bytes,
                      unsigned lane) {
  Place place = locate(execution, space, address, bytes.size(), bytes.size(), lane);
  if (!place)
    return;
  if (noteWrite(execution, place, bytes.size(), lane))
    std::memcpy(place.data, bytes.data(), bytes.size());
}
