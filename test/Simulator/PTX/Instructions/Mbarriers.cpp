//===- Mbarriers.cpp - mbarrier --------------------------------------------------------===//
//
// Source: PTX ISA 9.7.13, mbarrier. A try_wait waits: it is true when it ends.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/MbarrierState.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

uint64_t addressOfLane(Execution &e, const Operand &operand, unsigned lane) {
  return sharedAddress(e.instruction.space, readAddress(e, operand)[lane]);
}

/// The barrier object itself is memory: its initialization is a write that all others must come after.
bool touch(Execution &e, uint64_t address, unsigned lane) {
  Place place = locate(e, Space::Shared, address, 8, 8, lane);
  if (!place)
    return false;
  Accessor by = accessorOf(e, lane);
  by.isAtomic = true;
  reportConflict(e, lane, false, place.shadow->read(place.offset, 8, by));
  return true;
}

Outcome initialize(Execution &e) {
  forEachLane(e.lanes, [&](unsigned lane) {
    uint64_t address = addressOfLane(e, e.operand(0), lane);
    uint32_t count = read<uint32_t>(e, e.operand(1))[lane];
    Place place = locate(e, Space::Shared, address, 8, 8, lane);
    if (!place)
      return;
    if (count == 0 || count >= 1u << 20)
      e.report(FindingKind::Misuse, lane, "the number of arrivals must be from 1 to 1048575");
    noteWrite(e, place, 8, lane);
    Mbarrier &barrier = e.block.mbarriers[address];
    barrier = Mbarrier();
    barrier.actor = actors::barrier(e.block.mbarrierActors++);
    barrier.expected = barrier.pending = count;
  });
  return Outcome::Next;
}

Outcome invalidate(Execution &e) {
  forEachLane(e.lanes, [&](unsigned lane) {
    if (findMbarrier(e, addressOfLane(e, e.operand(0), lane)))
      e.block.mbarriers.erase(addressOfLane(e, e.operand(0), lane));
  });
  return Outcome::Next;
}

enum Flags : uint64_t { ExpectsBytes = 1, HasState = 2, IsTest = 4, HasParity = 8, DoesNotArrive = 16 };

/// arrive, arrive.expect_tx and expect_tx. The state is the phase.
Outcome arriveAt(Execution &e) {
  uint64_t flags = e.instruction.flags;
  size_t first = flags & HasState ? 1 : 0;
  Lanes<uint64_t> state{};
  // Lanes that arrive together at one barrier release together.
  std::map<uint64_t, LaneMask> lanesOf;
  Lanes<uint64_t> addresses = readAddress(e, e.operand(first));
  forEachLane(e.lanes, [&](unsigned lane) {
    lanesOf[sharedAddress(e.instruction.space, addresses[lane])] |= LaneMask(1) << lane;
  });
  Lanes<uint32_t> argument{};
  if (e.instruction.operands.size() > first + 1)
    argument = read<uint32_t>(e, e.operand(first + 1));
  for (auto [address, lanes] : lanesOf) {
    Mbarrier *barrier = findMbarrier(e, address);
    if (!barrier || !touch(e, address, unsigned(__builtin_ctz(lanes))))
      return Outcome::Stopped;
    Knowledge released = e.warp.release(lanes);
    forEachLane(lanes, [&](unsigned lane) {
      state[lane] = barrier->phase;
      bool hasCount = !(flags & ExpectsBytes) && e.instruction.operands.size() > first + 1;
      uint32_t count = hasCount ? argument[lane] : 1;
      if (flags & ExpectsBytes)
        expectBytes(*barrier, argument[lane]);
      if (flags & DoesNotArrive)
        return;
      if (count > barrier->pending)
        e.report(FindingKind::Misuse, lane,
                 "more arrivals in a phase than the " + std::to_string(barrier->expected) + " expected");
      arrive(*barrier, count, released);
    });
  }
  if (flags & HasState)
    write(e, e.operand(0), state);
  return Outcome::Next;
}

/// test_wait and try_wait: whether the phase, given as its parity or state, is complete.
Outcome wait(Execution &e) {
  uint64_t flags = e.instruction.flags;
  Lanes<uint64_t> addresses = readAddress(e, e.operand(1)), phases = read<uint64_t>(e, e.operand(2));
  std::map<uint64_t, LaneMask> lanesOf;
  forEachLane(e.lanes, [&](unsigned lane) {
    lanesOf[sharedAddress(e.instruction.space, addresses[lane])] |= LaneMask(1) << lane;
  });
  LaneMask complete = 0;
  for (auto [address, lanes] : lanesOf) {
    Mbarrier *barrier = findMbarrier(e, address);
    if (!barrier || !touch(e, address, unsigned(__builtin_ctz(lanes))))
      return Outcome::Stopped;
    forEachLane(lanes, [&](unsigned lane) {
      bool isComplete = flags & HasParity ? (barrier->phase & 1) != (phases[lane] & 1) : barrier->phase != phases[lane];
      complete |= LaneMask(isComplete) << lane;
    });
  }
  if (complete != e.lanes && !(flags & IsTest))
    return Outcome::Blocked;
  for (auto [address, lanes] : lanesOf)
    if (LaneMask known = lanes & complete)
      e.warp.acquire(known, e.block.mbarriers[address].complete);
  writePredicate(e, e.operand(0), complete);
  return Outcome::Next;
}

void takeScope(Suffixes &suffixes, Instruction &instruction) {
  suffixes.takeOneOf({"release", "acquire", "relaxed"});
  suffixes.takeOneOf({"cta", "cluster"});
  instruction.space = suffixes.takeSpace();
}

bool decodeArrive(Suffixes &suffixes, Instruction &instruction, bool arrives) {
  bool expects = !arrives || suffixes.take("expect_tx");
  takeScope(suffixes, instruction);
  bool hasState = instruction.operands.size() > 1 && instruction.operands[0].kind != Operand::Kind::Address;
  instruction.flags = (expects ? ExpectsBytes : 0) | (hasState ? HasState : 0) | (arrives ? 0 : DoesNotArrive);
  instruction.execute = arriveAt;
  size_t first = hasState ? 1 : 0, operands = instruction.operands.size();
  return operands > first && instruction.operands[first].kind == Operand::Kind::Address && operands <= first + 2 &&
         (!expects || operands == first + 2);
}

bool decodeWait(Suffixes &suffixes, Instruction &instruction, bool isTest) {
  bool hasParity = suffixes.take("parity");
  takeScope(suffixes, instruction);
  instruction.flags = (isTest ? IsTest : 0) | (hasParity ? HasParity : 0);
  instruction.execute = wait;
  return instruction.operands.size() >= 3 && instruction.operands[1].kind == Operand::Kind::Address;
}

} // namespace

bool rapt::ptx::decodeMbarriers(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "mbarrier")
    return false;
  std::optional<size_t> action = suffixes.takeOneOf({"init", "inval", "arrive", "expect_tx", "test_wait", "try_wait"});
  if (!action)
    return false;
  bool isDecoded = true;
  if (*action < 2) {
    instruction.space = suffixes.takeSpace();
    instruction.execute = *action == 0 ? initialize : invalidate;
    isDecoded = instruction.operands.size() == (*action == 0 ? 2u : 1u) &&
                instruction.operands[0].kind == Operand::Kind::Address;
  } else {
    isDecoded = *action < 4 ? decodeArrive(suffixes, instruction, *action == 2)
                            : decodeWait(suffixes, instruction, *action == 4);
  }
  return isDecoded && suffixes.take("b64");
}
