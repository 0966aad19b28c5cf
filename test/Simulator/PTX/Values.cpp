//===- Values.cpp - Operands of an instruction as values of lanes -----------===//
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

void rapt::ptx::checkRead(Execution &execution, uint32_t index) {
  Warp &warp = execution.warp;
  const Register &reg = execution.block.launch.kernel.registers[index];
  const LaneMask missing = execution.lanes & ~warp.valid[index];
  if (execution.takesUndefined)
    execution.undefined |= missing;
  else if (missing)
    execution.report(FindingKind::UninitializedRegister, unsigned(__builtin_ctz(missing)),
                     reg.name + " is read before it is written");
  if (warp.inFlight[index] && !warp.isRead[index])
    execution.report(FindingKind::MissingWait, wholeWarp,
                     reg.name + " is read while a wgmma that nobody has waited for writes it");
  if (!warp.touchedSinceFence.empty())
    warp.touchedSinceFence[index] = true;
}

void rapt::ptx::checkWrite(Execution &execution, uint32_t index) {
  Warp &warp = execution.warp;
  if (warp.inFlight[index])
    execution.report(FindingKind::MissingWait, wholeWarp,
                     execution.block.launch.kernel.registers[index].name +
                         " is written while a wgmma that nobody has waited for uses it");
  warp.valid[index] = (warp.valid[index] | execution.lanes) & ~execution.undefined;
  if (!warp.touchedSinceFence.empty())
    warp.touchedSinceFence[index] = true;
}

uint64_t rapt::ptx::specialValue(const Execution &execution, Special special, unsigned lane) {
  const Block &block = execution.block;
  const LaunchOptions &options = block.launch.options;
  const std::array<uint32_t, 3> &threads = options.threads;
  uint32_t thread = execution.warp.index * warpSize + lane;
  switch (special) {
  case Special::TidX:
    return thread % threads[0];
  case Special::TidY:
    return thread / threads[0] % threads[1];
  case Special::TidZ:
    return thread / threads[0] / threads[1];
  case Special::NtidX:
  case Special::NtidY:
  case Special::NtidZ:
    return threads[size_t(special) - size_t(Special::NtidX)];
  case Special::CtaidX:
  case Special::CtaidY:
  case Special::CtaidZ:
    return block.index[size_t(special) - size_t(Special::CtaidX)];
  case Special::NctaidX:
  case Special::NctaidY:
  case Special::NctaidZ:
    return options.grid[size_t(special) - size_t(Special::NctaidX)];
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return execution.warp.index;
  case Special::NwarpId:
    return block.warps.size();
  case Special::LanemaskEq:
    return LaneMask(1) << lane;
  case Special::LanemaskLt:
    return (LaneMask(1) << lane) - 1;
  case Special::LanemaskLe:
    return (LaneMask(2) << lane) - 1;
  case Special::LanemaskGt:
    return LaneMask(~((LaneMask(2) << lane) - 1));
  case Special::LanemaskGe:
    return LaneMask(~((LaneMask(1) << lane) - 1));
  case Special::DynamicSharedSize:
    return options.dynamicSharedBytes;
  case Special::TotalSharedSize:
    return block.launch.kernel.sharedBytes + options.dynamicSharedBytes;
  case Special::Clock:
  case Special::Clock64:
  case Special::GlobalTimer:
    return block.launch.instructions;
  case Special::SmId:
  case Special::ClusterCtaRank:
    return 0;
  case Special::NsmId:
  case Special::ClusterCtaCount:
    return 1;
  }
  return 0;
}

uint64_t rapt::ptx::addressOf(const Execution &execution, const Operand &operand) {
  const Launch &launch = execution.block.launch;
  if (operand.kind == Operand::Kind::Parameter)
    return launch.kernel.parameters[operand.index].offset + operand.value;
  const Variable &variable = launch.kernel.variables[operand.index];
  bool isOfModule = variable.space == Space::Global || variable.space == Space::Const;
  return (isOfModule ? launch.variableAddresses[operand.index] : variable.offset) + operand.value;
}

LaneMask rapt::ptx::readPredicate(Execution &execution, const Operand &operand) {
  LaneMask values = operand.value ? allLanes : 0;
  if (operand.kind == Operand::Kind::Register) {
    checkRead(execution, operand.index);
    values = execution.warp.predicate(execution.registerOf(operand));
  }
  return operand.isNegated ? ~values : values;
}

void rapt::ptx::writePredicate(Execution &execution, const Operand &operand, LaneMask values) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  checkWrite(execution, operand.index);
  LaneMask &predicate = execution.warp.predicate(execution.registerOf(operand));
  predicate = (predicate & ~execution.lanes) | (values & execution.lanes);
}

Lanes<uint64_t> rapt::ptx::readAddress(Execution &execution, const Operand &operand) {
  Lanes<uint64_t> addresses = read<uint64_t>(execution, operand.elements[0]);
  for (uint64_t &address : addresses)
    address += operand.value;
  return addresses;
}
