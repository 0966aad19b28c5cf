//===- Verify.cpp - Verifies schedules ---------------------------------------------------===//
#include "lib/Target/CPU/Schedule/Verify.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Conversion/Schedule.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

namespace {

constexpr int64_t kMostPrefetchBytes = 1 << 20, kMostApartBytes = 4096, kMostElementwiseRows = 32;

/// The schedule of an op; reports one that is missing or of another kind.
template <typename Schedule> FailureOr<Schedule> read(Operation *op) {
  auto any = attn::scheduleOf(op);
  if (!any) {
    op->emitOpError("has no ") << attn::AttnDialect::scheduleAttr << ", which attn-cpu-schedule sets";
    return failure();
  }
  auto schedule = dyn_cast<Schedule>(any);
  if (!schedule) {
    op->emitOpError("has a schedule that is no #attn_cpu.") << Schedule::getMnemonic() << ", found " << any;
    return failure();
  }
  return schedule;
}

/// Reports a schedule on an op that needs none.
LogicalResult verifyNone(Operation *op) {
  if (!attn::scheduleOf(op))
    return success();
  return op->emitOpError("has a schedule, and the CPU has nothing to choose for it");
}

template <typename Schedule, typename Op>
LogicalResult verifyTiled(Op op, const TargetInfo &target, LogicalResult (*verify)(Op, Schedule, const TargetInfo &)) {
  FailureOr<Schedule> schedule = read<Schedule>(op);
  return failed(schedule) ? failure() : verify(op, *schedule, target);
}

LogicalResult verify(Operation *op, const TargetInfo &target) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](attn::LinearOp linear) {
        return whyNotTiled(linear).empty() ? verifyTiled(linear, target, verifyLinear) : verifyNone(linear);
      })
      .Case([&](attn::AttentionOp attention) {
        return whyNotTiled(attention).empty() ? verifyTiled(attention, target, verifyAttention)
                                              : neutral::verifyAttentionTiles(attention);
      })
      .Case([](attn::AttentionStateOp state) { return neutral::verifyAttentionTiles(state); })
      .Case([&](attn::LinearAttentionOp linear) {
        return whyNotTiled(linear).empty() ? verifyTiled(linear, target, verifyLinearAttention) : verifyNone(linear);
      })
      .Case([&](attn::RecurrenceOp recurrence) {
        return whyNotTiled(recurrence).empty() ? verifyTiled(recurrence, target, verifyRecurrence)
                                               : verifyNone(recurrence);
      })
      .Case([](ModuleOp) { return success(); })
      .Default([](Operation *other) { return verifyNone(other); });
}

} // namespace

LogicalResult cpu::verifyModuleSchedule(ModuleOp module) {
  if (failed(neutral::verifyLinalgTiles(module)))
    return failure();
  auto schedule = attn::scheduleOf<attn_cpu::ModuleScheduleAttr>(module);
  for (auto [name, part] : {std::pair("copies", schedule ? Attribute(schedule.getCopies()) : Attribute()),
                            std::pair("elementwise", schedule ? Attribute(schedule.getElementwise()) : Attribute()),
                            std::pair("rows", schedule ? Attribute(schedule.getRows()) : Attribute())})
    if (!part)
      return module.emitOpError("has no attn.schedule with '") << name << "', which attn-cpu-schedule sets";
  return success(
      succeeded(verifyMost(module, "prefetch_bytes", schedule.getCopies().getPrefetchBytes(), kMostPrefetchBytes)) &&
      succeeded(verifyMost(module, "apart_bytes", schedule.getRows().getApartBytes(), kMostApartBytes)) &&
      succeeded(verifyMost(module, "rows", schedule.getElementwise().getRows(), kMostElementwiseRows)));
}

LogicalResult cpu::verifySchedules(Operation *root) {
  const TargetInfo target = TargetInfo::of(root);
  const WalkResult result = root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { return failed(verify(op, target)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(result.wasInterrupted());
}

FailureOr<attn_cpu::MicroKernelAttr> cpu::kernelOf(Operation *tile) {
  FailureOr<attn_cpu::MicroKernelAttr> kernel = read<attn_cpu::MicroKernelAttr>(tile);
  if (failed(kernel))
    return failure();
  const TargetInfo target = TargetInfo::of(tile);
  const KernelNeeds needs{kernel->getVnniRows().has_value(), kernel->getGroupRows().has_value(),
                          isa<attn_cpu::QuantizedMatmulOp>(tile) ? target.amxInt8 : target.amxBf16};
  if (failed(verifyKernel(tile, *kernel, needs, target)))
    return failure();
  return kernel;
}
