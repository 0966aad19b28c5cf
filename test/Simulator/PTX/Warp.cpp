//===- Warp.cpp - Registers and position of 32 threads -----------------------===//
#include "test/Simulator/PTX/Warp.h"
#include <algorithm>
using namespace rapt::ptx;

Warp::Warp(const Kernel &kernel, unsigned index, LaneMask lanes)
    : index(index), live(lanes), registers(kernel.registerBytes), valid(kernel.registers.size()),
      inFlight(kernel.registers.size()), isRead(kernel.registers.size()) {}

LaneMask Warp::lanesAt(uint32_t position) const {
  if (isConverged)
    return next == position ? live : 0;
  LaneMask lanes = 0;
  forEachLane(live, [&](unsigned lane) { lanes |= LaneMask(nextOfLane[lane] == position) << lane; });
  return lanes;
}

void Warp::go(LaneMask lanes, uint32_t position) {
  if (isConverged && lanes == live) {
    next = position;
    return;
  }
  if (isConverged)
    nextOfLane.fill(next);
  isConverged = true;
  forEachLane(lanes, [&](unsigned lane) { nextOfLane[lane] = position; });
  next = live ? nextOfLane[unsigned(__builtin_ctz(live))] : 0;
  forEachLane(live, [&](unsigned lane) { isConverged &= nextOfLane[lane] == next; });
}

void Warp::exit(LaneMask lanes) {
  if (isConverged)
    nextOfLane.fill(next);
  live &= ~lanes;
  isConverged = false;
  go(0, 0);
}

Knowledge Warp::release(LaneMask lanes) {
  Knowledge released = knowledge;
  forEachLane(lanes, [&](unsigned lane) {
    if (laneKnowledge[lane])
      released.join(*laneKnowledge[lane]);
  });
  if ((live & ~lanes) == 0) {
    released.generic.advance(actors::warp(index), epoch);
  } else {
    released.generic.advance(actors::warp(index), syncedEpoch - 1);
    released.generic.advance(actors::warp(index), epoch, lanes);
  }
  ++epoch;
  return released;
}

void Warp::acquire(LaneMask lanes, const Knowledge &from) {
  if ((live & ~lanes) == 0)
    return knowledge.join(from);
  forEachLane(lanes, [&](unsigned lane) {
    if (!laneKnowledge[lane])
      laneKnowledge[lane] = std::make_unique<Knowledge>();
    laneKnowledge[lane]->join(from);
  });
}

void Warp::synchronize(LaneMask lanes) {
  if (live & ~lanes)
    return;
  forEachLane(lanes, [&](unsigned lane) {
    if (laneKnowledge[lane])
      knowledge.join(*laneKnowledge[lane]);
    laneKnowledge[lane].reset();
  });
  syncedEpoch = ++epoch;
}
