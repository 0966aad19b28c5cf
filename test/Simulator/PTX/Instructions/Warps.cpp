//===- Warps.cpp - Exchanges between the lanes of a warp ------------------------------===//
//
// Source: PTX ISA 9.7.9 (shfl), 9.7.13 (vote, match, redux, activemask, elect, bar.warp).
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

enum Shuffle : uint8_t { Up, Down, Butterfly, Index };
enum Vote : uint8_t { All, Any, Uniform, Ballot };
enum Reduction : uint8_t { Add, Min, Max, And, Or, Xor };

/// True if the lanes that the mask names are all here; else those that are wait.
bool areHere(Execution &e, const Operand &operand) {
  LaneMask members = readUniform<uint32_t>(e, operand) & e.warp.live;
  if (e.lanes & ~members)
    e.report(FindingKind::Divergence, unsigned(__builtin_ctz(e.lanes & ~members)),
             "this lane is not in its member mask");
  return (members & ~e.lanes) == 0;
}

/// The lane that a lane reads from, and whether it is inside of its segment.
std::pair<unsigned, bool> sourceLane(uint8_t mode, unsigned lane, uint32_t b, uint32_t c) {
  int segment = int(c >> 8 & 31), clamp = int(c & 31), step = int(b & 31),
      last = (int(lane) & segment) | (clamp & ~segment);
  int from = int(lane);
  bool isInside = true;
  switch (mode) {
  case Up:
    from -= step;
    isInside = from >= last;
    break;
  case Down:
    from += step;
    isInside = from <= last;
    break;
  case Butterfly:
    from ^= step;
    isInside = from <= last;
    break;
  default:
    from = (int(lane) & segment) | (step & ~segment);
    isInside = from <= last;
  }
  return {isInside ? unsigned(from) : lane, isInside};
}

Outcome shuffle(Execution &e) {
  if (!areHere(e, e.operand(4)))
    return Outcome::Blocked;
  Lanes<uint32_t> values = read<uint32_t>(e, e.operand(1)), b = read<uint32_t>(e, e.operand(2)),
                  c = read<uint32_t>(e, e.operand(3)), result{};
  LaneMask inside = 0;
  forEachLane(e.lanes, [&](unsigned lane) {
    auto [from, isInside] = sourceLane(e.instruction.operation, lane, b[lane], c[lane]);
    if (!(e.lanes >> from & 1))
      e.report(FindingKind::Divergence, lane,
               "lane " + std::to_string(from) + ", from which it reads, does not take part");
    result[lane] = values[from];
    inside |= LaneMask(isInside) << lane;
  });
  const Operand &to = e.operand(0);
  bool isPair = to.kind == Operand::Kind::Pair;
  write(e, isPair ? to.elements[0] : to, result);
  if (isPair)
    writePredicate(e, to.elements[1], inside);
  return Outcome::Next;
}

Outcome vote(Execution &e) {
  if (!areHere(e, e.operand(2)))
    return Outcome::Blocked;
  LaneMask holds = readPredicate(e, e.operand(1)) & e.lanes;
  if (e.instruction.operation == Ballot) {
    Lanes<uint32_t> result;
    result.fill(holds);
    write(e, e.operand(0), result);
    return Outcome::Next;
  }
  bool result = e.instruction.operation == All   ? holds == e.lanes
                : e.instruction.operation == Any ? holds != 0
                                                 : holds == 0 || holds == e.lanes;
  writePredicate(e, e.operand(0), result ? allLanes : 0);
  return Outcome::Next;
}

Outcome match(Execution &e) {
  if (!areHere(e, e.operand(2)))
    return Outcome::Blocked;
  Lanes<uint64_t> values = read<uint64_t>(e, e.operand(1));
  Lanes<uint32_t> equal{};
  forEachLane(e.lanes, [&](unsigned lane) {
    forEachLane(e.lanes, [&](unsigned other) { equal[lane] |= LaneMask(values[lane] == values[other]) << other; });
  });
  bool isAll = e.instruction.operation == All, agree = equal[unsigned(__builtin_ctz(e.lanes))] == e.lanes;
  if (isAll && !agree)
    equal.fill(0);
  const Operand &to = e.operand(0);
  bool isPair = to.kind == Operand::Kind::Pair;
  write(e, isPair ? to.elements[0] : to, equal);
  if (isPair)
    writePredicate(e, to.elements[1], agree ? allLanes : 0);
  return Outcome::Next;
}

template <typename T> uint32_t reduce(uint8_t operation, LaneMask lanes, const Lanes<uint32_t> &values) {
  bool isFirst = true;
  T result = 0;
  forEachLane(lanes, [&](unsigned lane) {
    T value = T(values[lane]);
    result = isFirst            ? value
             : operation == Add ? T(uint32_t(result) + uint32_t(value))
             : operation == Min ? std::min(result, value)
             : operation == Max ? std::max(result, value)
             : operation == And ? result & value
             : operation == Or  ? result | value
                                : result ^ value;
    isFirst = false;
  });
  return uint32_t(result);
}

Outcome reduction(Execution &e) {
  if (!areHere(e, e.operand(2)))
    return Outcome::Blocked;
  Lanes<uint32_t> values = read<uint32_t>(e, e.operand(1)), result;
  result.fill(isSigned(e.instruction.type) ? reduce<int32_t>(e.instruction.operation, e.lanes, values)
                                           : reduce<uint32_t>(e.instruction.operation, e.lanes, values));
  write(e, e.operand(0), result);
  return Outcome::Next;
}

Outcome activeMask(Execution &e) {
  Lanes<uint32_t> result;
  result.fill(e.lanes);
  write(e, e.operand(0), result);
  return Outcome::Next;
}

/// One lane is chosen: the first one.
Outcome elect(Execution &e) {
  if (!areHere(e, e.operand(1)))
    return Outcome::Blocked;
  unsigned leader = unsigned(__builtin_ctz(e.lanes));
  Lanes<uint32_t> result;
  result.fill(leader);
  write(e, e.operand(0).elements[0], result);
  writePredicate(e, e.operand(0).elements[1], LaneMask(1) << leader);
  return Outcome::Next;
}

/// bar.warp.sync: what the lanes did before is known to all of them.
Outcome synchronizeWarp(Execution &e) {
  if (!areHere(e, e.operand(0)))
    return Outcome::Blocked;
  e.warp.synchronize(e.lanes);
  return Outcome::Next;
}

bool decodeExchange(Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  std::optional<size_t> operation;
  if (root == "match")
    operation = suffixes.takeOneOf({"all", "any"});
  bool isSync = suffixes.take("sync");
  size_t operands = 3;
  if (root == "shfl") {
    operation = suffixes.takeOneOf({"up", "down", "bfly", "idx"});
    instruction.execute = shuffle;
    operands = 5;
  } else if (root == "vote") {
    operation = suffixes.takeOneOf({"all", "any", "uni", "ballot"});
    instruction.execute = vote;
  } else if (root == "match") {
    instruction.execute = match;
  } else {
    operation = suffixes.takeOneOf({"add", "min", "max", "and", "or", "xor"});
    instruction.execute = reduction;
  }
  instruction.operation = uint8_t(operation.value_or(0));
  instruction.type = suffixes.takeType();
  return isSync && operation && instruction.operands.size() == operands;
}

} // namespace

bool rapt::ptx::decodeWarp(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  if (root == "shfl" || root == "vote" || root == "match" || root == "redux")
    return decodeExchange(suffixes, instruction);
  if (root == "activemask") {
    instruction.execute = activeMask;
    return suffixes.take("b32") && instruction.operands.size() == 1;
  }
  if (root == "elect") {
    instruction.execute = elect;
    return suffixes.take("sync") && instruction.operands.size() == 2 &&
           instruction.operands[0].kind == Operand::Kind::Pair;
  }
  if (root == "bar" && suffixes.take("warp")) {
    instruction.execute = synchronizeWarp;
    return suffixes.take("sync") && instruction.operands.size() == 1;
  }
  return false;
}
