//===- Copies.cpp - cp.async -------------------------------------------------------------===//
//
// Source: PTX ISA 9.7.9, non-bulk asynchronous copies. A thread that waits for its copies has written
// their bytes then; until then nobody may use them.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/MbarrierState.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

/// [to], [from], size, and a smaller number of bytes to read or a predicate that skips reading: the rest are zeros.
Outcome copy(Execution &e) {
  Lanes<uint64_t> to = readAddress(e, e.operand(0)), from = readAddress(e, e.operand(1));
  uint32_t size = uint32_t(e.operand(2).value);
  Lanes<uint32_t> readBytes;
  readBytes.fill(size);
  if (e.instruction.operands.size() > 3) {
    const Operand &last = e.operand(3);
    if (last.kind == Operand::Kind::Register && e.registerOf(last).type == Type::Pred) {
      LaneMask skips = readPredicate(e, last);
      forEachLane(skips, [&](unsigned lane) { readBytes[lane] = 0; });
    } else {
      readBytes = read<uint32_t>(e, last);
    }
  }
  PendingCopy pending;
  pending.lanes = e.lanes;
  std::vector<std::pair<std::byte *, std::array<std::byte, 16>>> moves;
  forEachLane(e.lanes, [&](unsigned lane) {
    Place target = locate(e, Space::Shared, to[lane], size, size, lane);
    uint32_t bytes = std::min(readBytes[lane], size);
    std::array<std::byte, 16> data{};
    if (bytes) {
      Place source = locate(e, Space::Global, from[lane], bytes, bytes == size ? size : 1, lane);
      if (!source)
        return;
      noteRead(e, source, bytes, lane);
      std::memcpy(data.data(), source.data, bytes);
    }
    if (!target)
      return;
    pending.writes.push_back(noteWrite(e, target, size, lane, true));
    moves.push_back({target.data, data});
  });
  auto move = [moves = std::move(moves), size] {
    for (const auto &[target, data] : moves)
      std::memcpy(target, data.data(), size);
  };
  if (e.block.launch.options.copies == AsyncMode::Eager)
    move();
  else
    pending.move = std::move(move);
  e.warp.copies.open.push_back(std::move(pending));
  return Outcome::Next;
}

Outcome commit(Execution &e) {
  CopyGroups &groups = e.warp.copies;
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
  return Outcome::Next;
}

/// The thread that waits writes the bytes now.
void finish(Execution &e, std::vector<PendingCopy> &group) {
  AccessLog &log = e.block.launch.log;
  for (PendingCopy &copy : group) {
    if (copy.move)
      copy.move();
    for (uint32_t id : copy.writes) {
      Write &write = log.write(id);
      write.isInFlight = false;
      write.moment.epoch = e.warp.epoch;
    }
  }
  group.clear();
}

void finishAllBut(Execution &e, uint64_t rest) {
  std::deque<std::vector<PendingCopy>> &groups = e.warp.copies.committed;
  while (groups.size() > rest) {
    finish(e, groups.front());
    groups.pop_front();
  }
}

Outcome wait(Execution &e) {
  finishAllBut(e, e.instruction.flags ? 0 : e.operand(0).value);
  if (e.instruction.flags)
    finish(e, e.warp.copies.open);
  return Outcome::Next;
}

/// cp.async.mbarrier.arrive: an arrival once all copies of the thread so far have ended.
Outcome arriveAfterCopies(Execution &e) {
  Lanes<uint64_t> addresses = readAddress(e, e.operand(0));
  finishAllBut(e, 0);
  finish(e, e.warp.copies.open);
  Knowledge released = e.warp.release(e.lanes);
  Outcome outcome = Outcome::Next;
  forEachLane(e.lanes, [&](unsigned lane) {
    Mbarrier *barrier = findMbarrier(e, sharedAddress(e.instruction.space, addresses[lane]));
    if (!barrier) {
      outcome = Outcome::Stopped;
      return;
    }
    if (!e.instruction.flags)
      ++barrier->pending; // without .noinc the arrival is not one of those expected
    arrive(*barrier, 1, released);
  });
  return outcome;
}

} // namespace

bool rapt::ptx::decodeCopies(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "cp" || !suffixes.take("async"))
    return false;
  size_t operands = instruction.operands.size();
  if (suffixes.take("commit_group")) {
    instruction.execute = commit;
    return operands == 0;
  }
  if (suffixes.take("wait_all") || suffixes.take("wait_group")) {
    instruction.flags = instruction.opcode.ends_with("wait_all");
    instruction.isConvergent = true; // groups are kept for a warp: its lanes wait together
    instruction.execute = wait;
    return operands == (instruction.flags ? 0 : 1);
  }
  if (suffixes.take("mbarrier")) {
    bool isArrive = suffixes.take("arrive");
    instruction.flags = suffixes.take("noinc");
    instruction.space = suffixes.takeSpace();
    instruction.execute = arriveAfterCopies;
    return isArrive && suffixes.take("b64") && operands == 1;
  }
  bool isCached = suffixes.take("ca");
  if (!isCached && !suffixes.take("cg"))
    return false;
  bool isToShared = suffixes.takeSpace() == Space::Shared && suffixes.takeSpace() == Space::Global;
  while (suffixes.takeRest("L2::")) {
  }
  instruction.execute = copy;
  uint64_t size = operands >= 3 ? instruction.operands[2].value : 0;
  return isToShared && operands <= 4 && (size == 16 || (isCached && (size == 4 || size == 8)));
}
