//===- Access.h - Memory accesses of threads ---------------------------------===//
#pragma once
#include "test/Simulator/PTX/Block.h"

namespace rapt::ptx {

/// Bytes of one memory.
struct Place {
  std::byte *data = nullptr;
  Shadow *shadow = nullptr; ///< null: read only (parameters)
  uint64_t offset = 0;      ///< in the shadow
  bool isGlobal = false;
  explicit operator bool() const { return data != nullptr; }
};

/// Finds `size` bytes at an address of a space. Reports and gives nothing where they are out of bounds or not aligned.
Place locate(Execution &execution, Space space, uint64_t address, uint64_t size, uint64_t alignment, unsigned lane);

/// An access of a thread, or of the whole warp.
Accessor accessorOf(const Execution &execution, unsigned lane);

void reportConflict(Execution &execution, unsigned lane, bool isWrite, const std::optional<Conflict> &conflict);

/// Notes a read of a located place, with its problems.
void noteRead(Execution &execution, const Place &place, uint64_t size, unsigned lane);
/// Notes a write; its number in the log.
uint32_t noteWrite(Execution &execution, const Place &place, uint64_t size, unsigned lane, bool isInFlight = false);

/// Copies bytes that a lane reads or writes. Bytes that cannot be read are zeros.
void load(Execution &execution, Space space, uint64_t address, std::span<std::byte> bytes, unsigned lane);
void store(Execution &execution, Space space, uint64_t address, std::span<const std::byte> bytes, unsigned lane);

} // namespace rapt::ptx
