//===- Sync.cpp - Order between thread blocks through device memory ---------===//
#include "test/Simulator/PTX/Sync.h"
using namespace rapt::ptx;

namespace {

void merge(std::vector<bool> &into, const std::vector<bool> &from) {
  into.resize(std::max(into.size(), from.size()));
  for (size_t block = 0; block < from.size(); ++block)
    into[block] = into[block] || from[block];
}

} // namespace

void rapt::ptx::releaseTo(Execution &execution, uint64_t address) {
  Block &block = execution.block;
  std::vector<bool> &released = block.launch.released[address];
  merge(released, block.knownBlocks);
  released.resize(std::max<size_t>(released.size(), block.number + 1));
  released[block.number] = true;
}

void rapt::ptx::acquireFrom(Execution &execution, uint64_t address) {
  auto found = execution.block.launch.released.find(address);
  if (found != execution.block.launch.released.end())
    merge(execution.block.knownBlocks, found->second);
}

void rapt::ptx::observe(Execution &execution, uint64_t address) {
  auto found = execution.block.launch.released.find(address);
  if (found != execution.block.launch.released.end())
    merge(execution.block.pendingBlocks, found->second);
}

void rapt::ptx::fenceBlock(Execution &execution) {
  merge(execution.block.knownBlocks, execution.block.pendingBlocks);
  execution.block.hasFenced = true;
}
