//===- MbarrierState.cpp - Barriers in shared memory -------------------------===//
#include "test/Simulator/PTX/MbarrierState.h"
using namespace rapt::ptx;

namespace {

void endPhaseIfComplete(Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.pendingBytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.complete = barrier.collected;
}

} // namespace

Mbarrier *rapt::ptx::findMbarrier(Execution &execution, uint64_t address) {
  auto found = execution.block.mbarriers.find(address);
  if (found != execution.block.mbarriers.end())
    return &found->second;
  execution.report(FindingKind::Misuse, unsigned(__builtin_ctz(execution.lanes)),
                   "no mbarrier was initialized at shared address " + std::to_string(address));
  return nullptr;
}

uint64_t rapt::ptx::sharedAddress(Space space, uint64_t address) {
  return space == Space::Generic ? address - sharedWindow : address;
}

void rapt::ptx::arrive(Mbarrier &barrier, uint32_t count, const Knowledge &released) {
  barrier.collected.join(released);
  barrier.pending -= std::min(count, barrier.pending);
  endPhaseIfComplete(barrier);
}

void rapt::ptx::expectBytes(Mbarrier &barrier, int64_t bytes) { barrier.pendingBytes += bytes; }

void rapt::ptx::completeBytes(Mbarrier &barrier, int64_t bytes, const Knowledge &released) {
  barrier.collected.join(released);
  barrier.pendingBytes -= bytes;
  endPhaseIfComplete(barrier);
}
