//===- Block.cpp - A running thread block ------------------------------------===//
//
// Lanes of a warp that are at one instruction execute it together; where they have
// diverged, those at the lowest instruction that can go on do, so that they meet again.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Block.h"
#include <algorithm>
#include <numeric>
using namespace rapt::ptx;

namespace {

uint32_t volume(const std::array<uint32_t, 3> &extents) { return extents[0] * extents[1] * extents[2]; }

} // namespace

Block::Block(Launch &launch, uint32_t number)
    : launch(launch), number(number), sharedShadow(launch.log, 0), localShadow(launch.log, 0) {
  const std::array<uint32_t, 3> &grid = launch.options.grid;
  index = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
  const Kernel &kernel = launch.kernel;
  shared.resize(sharedBase + kernel.sharedBytes + launch.options.dynamicSharedBytes);
  for (const Variable &variable : kernel.variables)
    if (variable.isDynamic)
      shared.resize(std::max<uint64_t>(shared.size(), variable.offset + launch.options.dynamicSharedBytes));
  sharedShadow.reset(shared.size());
  uint32_t threads = volume(launch.options.threads);
  local = ZeroedArray<std::byte>(uint64_t(threads) * kernel.localBytes);
  localShadow.reset(local.size());
  for (uint32_t begin = 0; begin < threads; begin += warpSize)
    warps.emplace_back(kernel, begin / warpSize,
                       threads - begin >= warpSize ? allLanes : (LaneMask(1) << (threads - begin)) - 1);
  matmulLines.resize((warps.size() + 3) / 4);
  bool hasMatmuls = std::ranges::any_of(
      kernel.instructions, [](const Instruction &instruction) { return instruction.opcode.starts_with("wgmma"); });
  for (Warp &warp : warps)
    warp.touchedSinceFence.resize(hasMatmuls ? kernel.registers.size() : 0, true);
}

bool Block::run() {
  std::vector<unsigned> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  bool isRandom = launch.options.seed != 0;
  while (true) {
    if (isRandom)
      std::ranges::shuffle(order, launch.random);
    bool progress = false, isLive = false;
    for (unsigned warp : order) {
      if (!warps[warp].live)
        continue;
      uint64_t before = warps[warp].instructionsExecuted;
      if (!runWarp(warps[warp], isRandom ? launch.random() % 400 + 1 : ~uint64_t(0)))
        return false;
      progress |= warps[warp].instructionsExecuted != before;
      isLive |= warps[warp].live != 0;
    }
    if (!isLive)
      break;
    if (!progress && !finishOneCopy()) {
      reportDeadlock();
      return false;
    }
  }
  while (finishOneCopy()) {
  }
  return true;
}

/// Runs a warp until it must wait or has executed `most` instructions.
bool Block::runWarp(Warp &warp, uint64_t most) {
  for (uint64_t executed = 0; executed < most && warp.live; ++executed) {
    if (++launch.instructions > launch.options.mostInstructions) {
      launch.findings.add(FindingKind::Deadlock, 0,
                          "the kernel does not end: it executed " + std::to_string(launch.instructions - 1) +
                              " instructions");
      return false;
    }
    Outcome outcome = Outcome::Blocked;
    if (warp.isConverged) {
      outcome = step(warp, warp.next, warp.live);
    } else {
      LaneMask rest = warp.live;
      while (rest && outcome == Outcome::Blocked) {
        uint32_t position = noIndex;
        forEachLane(rest, [&](unsigned lane) { position = std::min(position, warp.nextOfLane[lane]); });
        LaneMask lanes = warp.lanesAt(position);
        rest &= ~lanes;
        outcome = step(warp, position, lanes);
      }
    }
    if (outcome == Outcome::Stopped)
      return false;
    if (outcome == Outcome::Blocked)
      return true;
    ++warp.instructionsExecuted;
  }
  return true;
}

Outcome Block::step(Warp &warp, uint32_t position, LaneMask lanes) {
  const Instruction &instruction = launch.kernel.instructions[position];
  Execution execution{*this, warp, instruction, lanes, instruction.takesUndefined};
  if (instruction.guard != noIndex) {
    const Register &guard = launch.kernel.registers[instruction.guard];
    if (lanes & ~warp.valid[instruction.guard])
      execution.report(FindingKind::UninitializedRegister, wholeWarp, guard.name + " is read before it is written");
    LaneMask value = warp.predicate(guard);
    execution.lanes &= instruction.isGuardNegated ? ~value : value;
  }
  if (execution.lanes == 0) {
    warp.go(lanes, position + 1);
    return Outcome::Next;
  }
  if (instruction.isConvergent && execution.lanes != warp.live)
    return Outcome::Blocked;
  Outcome outcome = instruction.execute(execution);
  if (outcome == Outcome::Next)
    warp.go(lanes & warp.live, position + 1);
  else if (outcome == Outcome::Jumped)
    warp.go(lanes & ~execution.lanes & warp.live, position + 1);
  return outcome;
}

/// Ends the oldest copy that a barrier waits for, when no thread can go on without.
bool Block::finishOneCopy() {
  if (bulkCopies.empty())
    return false;
  PendingBulkCopy copy = std::move(bulkCopies.front());
  bulkCopies.pop_front();
  copy.move();
  copy.end();
  return true;
}

void Block::reportDeadlock() {
  std::string text = "no thread can go on:";
  uint32_t line = 0;
  for (const Warp &warp : warps) {
    LaneMask rest = warp.live;
    while (rest) {
      uint32_t position = warp.isConverged ? warp.next : warp.nextOfLane[unsigned(__builtin_ctz(rest))];
      LaneMask lanes = warp.lanesAt(position);
      const Instruction &instruction = launch.kernel.instructions[position];
      line = line ? line : instruction.line;
      text += " warp " + std::to_string(warp.index) +
              (lanes == warp.live ? "" : ", " + std::to_string(__builtin_popcount(lanes)) + " lanes,") +
              " waits at line " + std::to_string(instruction.line) + " (" + instruction.opcode + ");";
      rest &= ~lanes;
    }
  }
  text.pop_back();
  launch.findings.add(FindingKind::Deadlock, line, text);
}

void Execution::report(FindingKind kind, unsigned lane, const std::string &text) const {
  if (block.launch.findings.has(kind, instruction.line))
    return block.launch.findings.add(kind, instruction.line, "");
  std::string where = "line " + std::to_string(instruction.line) + ", block (" + std::to_string(block.index[0]) + ", " +
                      std::to_string(block.index[1]) + ", " + std::to_string(block.index[2]) + "), warp " +
                      std::to_string(warp.index);
  if (lane != wholeWarp)
    where += ", lane " + std::to_string(lane);
  block.launch.findings.add(kind, instruction.line, where + ": " + instruction.opcode + ": " + text);
}
