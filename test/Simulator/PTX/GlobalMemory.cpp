//===- GlobalMemory.cpp - Device memory of the simulator ----------------------===//
#include "test/Simulator/PTX/GlobalMemory.h"
#include <cstring>
using namespace rapt::ptx;

uint64_t GlobalMemory::allocate(uint64_t size) {
  constexpr uint64_t alignment = 512, gap = 4096;
  uint64_t address = next;
  next += (size + alignment - 1) / alignment * alignment + gap;
  inUse += size;
  allocations.emplace(address, new Allocation{address, ZeroedArray<std::byte>(size), Shadow(log, size)});
  return address;
}

bool GlobalMemory::free(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return false;
  inUse -= found->second->data.size();
  allocations.erase(found);
  last = nullptr;
  return true;
}

GlobalMemory::Allocation *GlobalMemory::find(uint64_t address, uint64_t size) {
  auto holds = [&](const Allocation &allocation) {
    uint64_t begin = address - allocation.address, bytes = allocation.data.size();
    return address >= allocation.address && begin <= bytes && size <= bytes - begin;
  };
  if (last && holds(*last))
    return last;
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin() || !holds(*std::prev(after)->second))
    return nullptr;
  return last = std::prev(after)->second.get();
}

bool GlobalMemory::write(uint64_t address, std::span<const std::byte> bytes) {
  Allocation *allocation = find(address, bytes.size());
  if (!allocation)
    return false;
  std::memcpy(allocation->data.data() + (address - allocation->address), bytes.data(), bytes.size());
  allocation->shadow.initialize(address - allocation->address, bytes.size());
  return true;
}

bool GlobalMemory::read(uint64_t address, std::span<std::byte> bytes) {
  Allocation *allocation = find(address, bytes.size());
  if (allocation)
    std::memcpy(bytes.data(), allocation->data.data() + (address - allocation->address), bytes.size());
  return allocation != nullptr;
}
