//===- Barriers.cpp - bar, barrier and fences -----------------------------------------===//
//
// Source: PTX ISA 9.7.13, bar and membar / fence.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Sync.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

enum Kind : uint8_t { Synchronize, Arrive };

unsigned threadsOf(const Block &block) {
  unsigned threads = 0;
  for (const Warp &warp : block.warps)
    threads += unsigned(__builtin_popcount(warp.live));
  return threads;
}

/// The number of threads that the barrier waits for: all that are alive, where the instruction names none.
unsigned expectedThreads(Execution &e) {
  if (e.instruction.operands.size() < 2)
    return (threadsOf(e.block) + warpSize - 1) / warpSize * warpSize;
  unsigned expected = readUniform<uint32_t>(e, e.operand(1));
  if (expected == 0 || expected % warpSize)
    e.report(FindingKind::Misuse, wholeWarp, "the number of threads must be a multiple of 32");
  return expected;
}

/// A whole warp counts as 32 threads.
Outcome barrier(Execution &e) {
  Warp &warp = e.warp;
  uint32_t number = readUniform<uint32_t>(e, e.operand(0));
  if (number >= e.block.barriers.size()) {
    e.report(FindingKind::Misuse, wholeWarp, "there are 16 barriers");
    return Outcome::Stopped;
  }
  NamedBarrier &barrier = e.block.barriers[number];
  if (warp.waitingBarrier != noIndex) {
    if (barrier.generation == warp.waitingGeneration)
      return Outcome::Blocked;
    warp.waitingBarrier = noIndex;
    warp.acquire(e.lanes, barrier.complete);
    warp.synchronize(e.lanes);
    return Outcome::Next;
  }
  unsigned expected = expectedThreads(e);
  if (barrier.arrived && e.instruction.operands.size() >= 2 && barrier.expected != expected)
    e.report(FindingKind::Misuse, wholeWarp,
             "barrier " + std::to_string(number) + " has " + std::to_string(barrier.expected) +
                 " threads elsewhere and " + std::to_string(expected) + " here");
  barrier.expected = expected;
  barrier.arrived += warpSize;
  barrier.collected.join(warp.release(e.lanes));
  bool isComplete = barrier.arrived >= expected;
  if (isComplete) {
    barrier.arrived = 0;
    ++barrier.generation;
    barrier.complete = barrier.collected;
  }
  if (e.instruction.operation == Arrive)
    return Outcome::Next;
  warp.waitingBarrier = number;
  warp.waitingGeneration = barrier.generation - isComplete;
  return isComplete ? ::barrier(e) : Outcome::Blocked;
}

/// fence.proxy.async: asynchronous operations see what these threads know to be written.
Outcome fenceProxy(Execution &e) {
  Knowledge known = e.warp.release(e.lanes);
  known.proxied.join(known.generic);
  e.warp.acquire(e.lanes, known);
  return Outcome::Next;
}

Outcome fence(Execution &e) {
  fenceBlock(e);
  return Outcome::Next;
}

Outcome nothing(Execution &) { return Outcome::Next; }

bool decodeFence(Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.take("proxy")) {
    bool isAsync = suffixes.take("async") || suffixes.take("async::generic");
    if (isAsync)
      suffixes.takeOneOf({"shared::cta", "shared::cluster", "global"});
    instruction.execute = isAsync ? fenceProxy : nothing;
    while (!isAsync && !suffixes.isDone())
      suffixes.takeRest("");
    return true;
  }
  if (suffixes.take("mbarrier_init")) {
    instruction.execute = fenceProxy; // bulk copies see the barriers that these threads have initialized
    return suffixes.take("release") && suffixes.take("cluster");
  }
  suffixes.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  bool isOfDevice = !suffixes.take("cta");
  suffixes.takeOneOf({"gl", "gpu", "sys", "cluster"});
  instruction.execute = isOfDevice ? fence : nothing;
  return instruction.operands.empty();
}

} // namespace

bool rapt::ptx::decodeBarriers(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "fence" || root == "membar")
    return decodeFence(suffixes, instruction);
  if (root == "barrier" && suffixes.take("cluster")) {
    suffixes.takeOneOf({"arrive", "wait"});
    suffixes.takeOneOf({"release", "relaxed", "acquire"});
    suffixes.take("aligned");
    instruction.execute = nothing; // clusters have one block
    return true;
  }
  if (root != "bar" && root != "barrier")
    return false;
  suffixes.take("cta");
  std::optional<size_t> kind = suffixes.takeOneOf({"sync", "arrive"});
  suffixes.take("aligned");
  instruction.operation = uint8_t(kind.value_or(0));
  instruction.isConvergent = true;
  instruction.execute = barrier;
  size_t operands = instruction.operands.size();
  return kind && (operands == 2 || (operands == 1 && *kind == Synchronize));
}
