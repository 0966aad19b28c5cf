//===- GlobalMemory.h - Device memory of the simulator ------------------------===//
#pragma once
#include "test/Simulator/PTX/Shadow.h"
#include <map>
#include <memory>
#include <span>

namespace rapt::ptx {

/// Where generic addresses of a thread's other memories begin. Global addresses are above.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 40, localWindow = uint64_t(2) << 40,
                          paramWindow = uint64_t(3) << 40, windowSize = uint64_t(1) << 40,
                          globalBegin = uint64_t(0x7f) << 40;

/// Allocations of device memory. An address between two of them belongs to none.
class GlobalMemory {
public:
  explicit GlobalMemory(AccessLog &log) : log(log) {}

  struct Allocation {
    uint64_t address;
    ZeroedArray<std::byte> data;
    Shadow shadow;
  };

  /// Bytes that nobody has written yet.
  uint64_t allocate(uint64_t size);
  bool free(uint64_t address);
  uint64_t allocatedBytes() const { return inUse; }

  /// The allocation that holds all of [address, address + size), or null.
  Allocation *find(uint64_t address, uint64_t size);

  /// Copies by the host. False where the bytes are not all of one allocation.
  bool write(uint64_t address, std::span<const std::byte> bytes);
  bool read(uint64_t address, std::span<std::byte> bytes);

private:
  AccessLog &log;
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  Allocation *last = nullptr;
  uint64_t next = globalBegin, inUse = 0;
};

} // namespace rapt::ptx
