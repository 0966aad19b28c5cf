//===- Verify.cpp - Verifies schedules ---------------------------------------------------===//
#include "lib/Target/CPU/Schedule/Verify.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Conversion/Schedule.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fields.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn::ScheduleAttr;

namespace {

constexpr int64_t kMostPrefetchBytes = 1 << 20, kMostApartBytes = 4096, kMostElementwiseRows = 32;

/// The members of an op's schedule; reports one that is missing or not well-formed.
template <typename Schedule> FailureOr<Schedule> read(Operation *op) {
  ScheduleAttr attribute = ScheduleAttr::of(op);
  if (!attribute) {
    op->emitOpError("has no ") << attn::AttnDialect::scheduleAttr << ", which attn-cpu-schedule sets";
    return failure();
  }
  Schedule schedule;
  ScheduleReader reader(attribute);
  schedule.visit(reader);
  if (std::string fault = reader.fault(); !fault.empty()) {
    op->emitOpError("has a schedule ") << fault;
    return failure();
  }
  return schedule;
}

/// Reports a schedule on an op that needs none.
LogicalResult verifyNone(Operation *op) {
  if (!ScheduleAttr::of(op))
    return success();
  return op->emitOpError("has a schedule, and the CPU has nothing to choose for it");
}

template <typename Schedule, typename Op>
LogicalResult verifyTiled(Op op, const TargetInfo &target,
                          LogicalResult (*verify)(Op, const Schedule &, const TargetInfo &)) {
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
  const auto copies = moduleSchedule<CopySchedule>(module, kCopies);
  const auto elementwise = moduleSchedule<ElementwiseSchedule>(module, kElementwise);
  const auto rows = moduleSchedule<RowSchedule>(module, kRows);
  for (auto [name, isThere] : {std::pair(kCopies, copies.has_value()), std::pair(kElementwise, elementwise.has_value()),
                               std::pair(kRows, rows.has_value())})
    if (!isThere)
      return module.emitOpError("has no attn.schedule with '") << name << "', which attn-cpu-schedule sets";
  return success(succeeded(verifyMost(module, "prefetch_bytes", copies->prefetchBytes, kMostPrefetchBytes)) &&
                 succeeded(verifyMost(module, "apart_bytes", rows->apartBytes, kMostApartBytes)) &&
                 succeeded(verifyMost(module, "rows", elementwise->rows, kMostElementwiseRows)));
}

LogicalResult cpu::verifySchedules(Operation *root) {
  const TargetInfo target = TargetInfo::of(root);
  const WalkResult result = root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { return failed(verify(op, target)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(result.wasInterrupted());
}

FailureOr<MicroKernel> cpu::kernelOf(Operation *tile) {
  FailureOr<MicroKernel> kernel = read<MicroKernel>(tile);
  if (failed(kernel))
    return failure();
  const TargetInfo target = TargetInfo::of(tile);
  const KernelNeeds needs{kernel->vnniRows.has_value(), kernel->groupRows.has_value(),
                          isa<attn_cpu::QuantizedMatmulOp>(tile) ? target.amxInt8 : target.amxBf16};
  if (failed(verifyKernel(tile, *kernel, needs, target)))
    return failure();
  return kernel;
}
