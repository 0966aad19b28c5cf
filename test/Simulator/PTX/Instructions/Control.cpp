//===- Control.cpp - Branches and ends ---------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

Outcome branch(Execution &e) {
  e.warp.go(e.lanes, e.operand(0).index);
  return Outcome::Jumped;
}

/// brx.idx: lanes go to the label that their index chooses.
Outcome branchByIndex(Execution &e) {
  Lanes<uint32_t> indices = read<uint32_t>(e, e.operand(0));
  const std::vector<Operand> &targets = e.operand(1).elements;
  bool isInside = true;
  forEachLane(e.lanes, [&](unsigned lane) {
    if (indices[lane] < targets.size())
      return;
    e.report(FindingKind::OutOfBounds, lane,
             "index " + std::to_string(indices[lane]) + " of " + std::to_string(targets.size()) + " labels");
    isInside = false;
  });
  if (!isInside)
    return Outcome::Stopped;
  forEachLane(e.lanes, [&](unsigned lane) { e.warp.go(LaneMask(1) << lane, targets[indices[lane]].index); });
  return Outcome::Jumped;
}

Outcome leave(Execution &e) {
  e.warp.exit(e.lanes);
  return Outcome::Jumped;
}

Outcome trap(Execution &e) {
  e.report(FindingKind::Misuse, unsigned(__builtin_ctz(e.lanes)), "the kernel traps");
  return Outcome::Stopped;
}

Outcome nothing(Execution &) { return Outcome::Next; }

/// griddepcontrol.wait
Outcome waitForKernels(Execution &e) {
  e.warp.isAfterOthers = true;
  return Outcome::Next;
}

/// setmaxnreg: a warpgroup's own number of registers.
Outcome setRegisters(Execution &e) {
  uint64_t count = e.operand(0).value;
  if (count % 8 || count < 24 || count > 256)
    e.report(FindingKind::Misuse, wholeWarp, "the number of registers must be a multiple of 8 from 24 to 256");
  return Outcome::Next;
}

} // namespace

bool rapt::ptx::decodeControl(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  std::string_view root = suffixes.root();
  size_t operands = instruction.operands.size();
  if (root == "bra") {
    suffixes.take("uni");
    instruction.execute = branch;
    return operands == 1 && instruction.operands[0].kind == Operand::Kind::Label;
  }
  if (root == "brx") {
    bool isByIndex = suffixes.take("idx");
    suffixes.take("uni");
    instruction.execute = branchByIndex;
    return isByIndex && operands == 2 && instruction.operands[1].kind == Operand::Kind::Vector;
  }
  if (root == "ret" || root == "exit") {
    suffixes.take("uni");
    instruction.execute = leave;
    return operands == 0;
  }
  if (root == "trap" || root == "brkpt") {
    instruction.execute = trap;
    return operands == 0;
  }
  if (root == "nanosleep") {
    suffixes.take("u32");
    instruction.execute = nothing;
    return true;
  }
  if (root == "griddepcontrol") {
    instruction.execute = suffixes.take("wait") ? waitForKernels : nothing;
    return instruction.execute == waitForKernels || suffixes.take("launch_dependents");
  }
  if (root == "setmaxnreg" && suffixes.takeOneOf({"inc", "dec"})) {
    instruction.isConvergent = true;
    instruction.execute = setRegisters;
    return suffixes.take("sync") && suffixes.take("aligned") && suffixes.take("u32") && operands == 1;
  }
  return false;
}
