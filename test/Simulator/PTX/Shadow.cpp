//===- Shadow.cpp - Who wrote and read each byte of a memory -----------------===//
#include "test/Simulator/PTX/Shadow.h"
#include <algorithm>
using namespace rapt::ptx;

namespace {

std::string describe(const Moment &moment, uint32_t line) {
  std::string text = "line " + std::to_string(line);
  if (moment.actor >= actors::mostWarps)
    return "the asynchronous operation of " + text;
  text += " (warp " + std::to_string(moment.actor);
  if (moment.lane != wholeWarp)
    text += ", lane " + std::to_string(moment.lane);
  return text + ")";
}

} // namespace

bool rapt::ptx::isOrdered(const Accessor &by, const Moment &moment, uint32_t block, bool needsProxyFence) {
  if (block != by.block)
    return by.blocks && block < by.blocks->size() && (*by.blocks)[block];
  bool isOwnWarp = moment.actor == by.moment.actor;
  if (!needsProxyFence && isOwnWarp && (moment.lane == by.moment.lane || moment.lane == wholeWarp))
    return true;
  if (!needsProxyFence && isOwnWarp && moment.epoch < by.syncedEpoch)
    return true;
  auto knows = [&](const Knowledge *knowledge) {
    return knowledge && (needsProxyFence ? knowledge->proxied : knowledge->generic).knows(moment);
  };
  return knows(by.warp) || knows(by.lane);
}

//===- AccessLog ------------------------------------------------------------------===//

void AccessLog::Steps::clear() {
  count = 0;
  ++round;
}

AccessLog::Steps::Entry &AccessLog::Steps::find(const Step &step) {
  uint64_t hash = step.set;
  for (uint64_t part : {step.line, step.epoch, step.actorAndLane, step.block})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15 ^ hash >> 29;
  const size_t mask = entries.size() - 1;
  size_t at = (hash ^ hash >> 32) & mask;
  while (entries[at].round == round && entries[at].step != step)
    at = (at + 1) & mask;
  return entries[at];
}

uint32_t &AccessLog::Steps::at(const Step &step) {
  if (2 * count >= entries.size()) {
    std::vector<Entry> before(2 * entries.size());
    before.swap(entries);
    for (const Entry &entry : before)
      if (entry.round == round)
        find(entry.step) = entry;
  }
  Entry &entry = find(step);
  if (entry.round != round) {
    entry = {step, 0, round};
    ++count;
  }
  return entry.set;
}

void AccessLog::beginLaunch() {
  firstWrite += uint32_t(writes.size());
  firstSet += lanesOfSet * uint32_t(sets.size());
  // Numbers that bytes hold from earlier launches stay below; 1 is "written by an earlier launch".
  firstWrite = std::max(firstWrite, 2u);
  writes.clear();
  sets.clear();
  forgetSteps();
}

uint32_t AccessLog::addWrite(const Accessor &by, bool isInFlight) {
  writes.push_back({by.moment, by.block, by.line, by.isAsync, by.isAtomic, isInFlight});
  return firstWrite + uint32_t(writes.size()) - 1;
}

void AccessLog::forgetSteps() {
  steps.clear();
  lastSet = 0;
}

uint32_t AccessLog::addRead(uint32_t set, const Accessor &by) {
  if (set < firstSet)
    set = 0;
  if (by.block != block)
    forgetSteps();
  block = by.block;
  const uint8_t lane = by.moment.lane;
  const ReadSet *before = set ? &sets[(set - firstSet) / lanesOfSet] : nullptr;
  const uint32_t laneBefore = set ? (set - firstSet) % lanesOfSet : 0;
  const bool isOfLane = lane != wholeWarp && (!before || (before->isOfLane && laneBefore == lane));
  constexpr uint32_t anyLane = 0xfe;
  const Steps::Step step = {isOfLane && set ? set - lane : set, by.line, by.moment.epoch,
                            uint32_t(by.moment.actor) << 8 | (isOfLane ? anyLane : lane), by.block << 1 | by.isAtomic};
  const uint32_t offset = isOfLane ? lane : 0;
  if (lastSet && step == last)
    return lastSet + offset;
  last = step;
  uint32_t &known = steps.at(step);
  if (known)
    return (lastSet = known) + offset;
  ReadSet next = before ? *before : ReadSet();
  if (next.isOfLane && !isOfLane)
    for (Read &read : next.reads)
      read.lanes = LaneMask(1) << laneBefore;
  next.isOfLane = isOfLane;
  const LaneMask lanes = isOfLane ? 0 : lane == wholeWarp ? allLanes : LaneMask(1) << lane;
  auto isSame = [&](const Read &read) {
    return read.moment.actor == by.moment.actor && read.moment.epoch == by.moment.epoch && read.line == by.line &&
           read.isAtomic == by.isAtomic;
  };
  if (std::erase_if(next.reads, [&](const Read &read) { return read.block != by.block; }))
    next.hasOtherBlocks = true;
  auto same = std::find_if(next.reads.begin(), next.reads.end(), isSame);
  if (same != next.reads.end())
    same->lanes |= lanes;
  else
    next.reads.push_back({by.moment, lanes, by.block, by.line, by.isAtomic});
  sets.push_back(std::move(next));
  known = lastSet = firstSet + lanesOfSet * uint32_t(sets.size() - 1);
  return known + offset;
}

std::string AccessLog::conflictOfReads(uint32_t set, const Accessor &by) const {
  if (set < firstSet)
    return "";
  const ReadSet &reads = sets[(set - firstSet) / lanesOfSet];
  const LaneMask ofSet = LaneMask(1) << (set - firstSet) % lanesOfSet;
  if (reads.hasOtherBlocks && !by.isAtomic)
    return "another thread block";
  for (const Read &read : reads.reads) {
    if (read.isAtomic && by.isAtomic)
      continue;
    bool isConflict = false;
    Moment moment = read.moment;
    const LaneMask lanes = reads.isOfLane ? ofSet : read.lanes;
    forEachLane(moment.lane == wholeWarp ? 1 : lanes, [&](unsigned lane) {
      moment.lane = read.moment.lane == wholeWarp ? wholeWarp : uint8_t(lane);
      isConflict |= !isOrdered(by, moment, read.block, false);
    });
    if (isConflict)
      return read.block != by.block ? "another thread block" : describe(moment, read.line);
  }
  return "";
}

//===- Shadow ---------------------------------------------------------------------===//

void Shadow::initialize(uint64_t offset, uint64_t size) {
  for (uint64_t byte = offset; byte < offset + size; ++byte)
    bytes[byte] = {1, 0};
}

bool Shadow::isWritten(uint64_t offset, uint64_t size) const {
  for (uint64_t byte = offset; byte < offset + size; ++byte)
    if (bytes[byte].write == 0)
      return false;
  return true;
}

void Shadow::forget(uint64_t offset, uint64_t size) {
  for (uint64_t byte = offset; byte < offset + size; ++byte)
    bytes[byte] = {};
}

std::optional<Conflict> Shadow::checkWrite(const Byte &byte, uint64_t offset, const Accessor &by, bool isRead) const {
  if (byte.write == 0)
    return isRead
               ? std::optional<Conflict>({FindingKind::UninitializedMemory, offset, "memory that nobody has written"})
               : std::nullopt;
  if (log.isOld(byte.write))
    return std::nullopt;
  const Write &write = log.write(byte.write);
  if (write.isAtomic && by.isAtomic)
    return std::nullopt;
  auto who = [&] { return write.block != by.block ? "another thread block" : describe(write.moment, write.line); };
  if (write.isInFlight)
    return Conflict{FindingKind::MissingWait, offset, "bytes that " + who() + " still writes"};
  if (!isOrdered(by, write.moment, write.block, false))
    return Conflict{FindingKind::Race, offset, "bytes that " + who() + " writes, without a barrier between"};
  if (by.isAsync && !write.isAsync && !isOrdered(by, write.moment, write.block, true))
    return Conflict{FindingKind::MissingFence, offset,
                    "bytes that " + who() + " wrote, without fence.proxy.async between"};
  return std::nullopt;
}

std::optional<Conflict> Shadow::read(uint64_t offset, uint64_t size, const Accessor &by) {
  std::optional<Conflict> first;
  Byte before = {}, after = {};
  bool isKnown = false;
  for (uint64_t at = offset; at < offset + size; ++at) {
    Byte &byte = bytes[at];
    // Neighbors mostly have one history.
    if (!isKnown || byte.write != before.write || byte.reads != before.reads) {
      before = byte;
      if (!first)
        first = checkWrite(byte, at, by, true);
      after = {byte.write, log.addRead(byte.reads, by)};
      isKnown = true;
    }
    byte = after;
  }
  return first;
}

std::optional<Conflict> Shadow::write(uint64_t offset, uint64_t size, const Accessor &by, uint32_t id) {
  std::optional<Conflict> first;
  Byte before = {};
  bool isKnown = false;
  for (uint64_t at = offset; at < offset + size; ++at) {
    Byte &byte = bytes[at];
    if (!isKnown || byte.write != before.write || byte.reads != before.reads) {
      before = byte;
      isKnown = true;
      if (!first)
        first = checkWrite(byte, at, by, false);
      if (std::string reader = first ? "" : log.conflictOfReads(byte.reads, by); !reader.empty())
        first = Conflict{FindingKind::Race, at, "bytes that " + reader + " reads, without a barrier between"};
    }
    byte = {id, 0};
  }
  return first;
}
