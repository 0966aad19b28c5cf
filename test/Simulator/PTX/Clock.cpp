//===- Clock.cpp - Vector clocks of warps and asynchronous operations -------===//
#include "test/Simulator/PTX/Clock.h"
#include <algorithm>
using namespace rapt::ptx;

void Clock::advance(uint16_t actor, uint32_t epoch) {
  if (actor >= epochs.size())
    epochs.resize(actor + 1);
  epochs[actor] = std::max(epochs[actor], epoch);
}

void Clock::advance(uint16_t actor, uint32_t epoch, LaneMask lanes) {
  if (epoch <= this->epoch(actor))
    return;
  // A part that is known by now of the same lanes, or of all, is dropped.
  std::erase_if(parts, [&](const Part &part) {
    return part.epoch <= this->epoch(part.actor) ||
           (part.actor == actor && part.epoch <= epoch && (part.lanes & ~lanes) == 0);
  });
  for (const Part &part : parts)
    if (part.actor == actor && part.epoch >= epoch && (lanes & ~part.lanes) == 0)
      return;
  parts.push_back({actor, epoch, lanes});
}

void Clock::join(const Clock &other) {
  if (other.epochs.size() > epochs.size())
    epochs.resize(other.epochs.size());
  for (size_t actor = 0; actor < other.epochs.size(); ++actor)
    epochs[actor] = std::max(epochs[actor], other.epochs[actor]);
  for (const Part &part : other.parts)
    advance(part.actor, part.epoch, part.lanes);
}

bool Clock::knows(const Moment &moment) const {
  if (moment.epoch <= epoch(moment.actor))
    return true;
  LaneMask lanes = moment.lane == wholeWarp ? allLanes : LaneMask(1) << moment.lane;
  return std::ranges::any_of(parts, [&](const Part &part) {
    return part.actor == moment.actor && moment.epoch <= part.epoch && (lanes & ~part.lanes) == 0;
  });
}
