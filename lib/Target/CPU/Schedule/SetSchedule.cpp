//===- SetSchedule.cpp - attn-cpu-schedule: chooses schedules --------------------------===//
#include "lib/Conversion/Schedule.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCPUSCHEDULE
#include "lib/Target/CPU/Schedule/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn::ScheduleInterface;

namespace {

/// Tiles of neutral decompositions of attention, and of linalg ops: those of the generic target.
constexpr int64_t kNeutralQueries = 16, kNeutralKeys = 64, kLinalgRows = 16, kLinalgColumns = 256;

/// Copies prefetch rows of at least 4096 bytes, 2048 bytes ahead, which covers the latency of memory. The hardware
/// prefetcher stops at the end of a page, and does not prefetch lines that are only written.
constexpr int64_t kCopiedRowBytes = 4096, kPrefetchBytes = 2048;
/// Rows of an elementwise tile that are vectorized together, so that live values fit the registers.
constexpr int64_t kElementwiseRows = 2;

/// Rows at multiples of 2048 bytes map to the same few sets of L1; one cache line of padding per row avoids it.
constexpr int64_t kAliasBytes = 2048, kApartBytes = 64;

attn_cpu::ModuleScheduleAttr scheduleOfModule(MLIRContext *context) {
  return attn_cpu::ModuleScheduleAttr::get(context,
                                           attn_cpu::CopyScheduleAttr::get(context, kPrefetchBytes, kCopiedRowBytes),
                                           attn_cpu::ElementwiseScheduleAttr::get(context, kElementwiseRows),
                                           attn::LinalgTilesAttr::get(context, kLinalgColumns, kLinalgRows),
                                           attn_cpu::RowScheduleAttr::get(context, kAliasBytes, kApartBytes));
}

/// The schedule of an op; null where there is nothing to choose.
ScheduleInterface choose(Operation *op, const TargetInfo &target) {
  auto neutralTiles = attn::AttentionTilesAttr::get(op->getContext(), kNeutralKeys, kNeutralQueries);
  return llvm::TypeSwitch<Operation *, ScheduleInterface>(op)
      .Case([&](attn::LinearOp linear) {
        return whyNotTiled(linear).empty() ? ScheduleInterface(chooseLinear(linear, target)) : ScheduleInterface();
      })
      .Case([&](attn::AttentionOp attention) {
        return whyNotTiled(attention).empty() ? ScheduleInterface(chooseAttention(attention, target))
                                              : ScheduleInterface(neutralTiles);
      })
      .Case([&](attn::AttentionStateOp) { return ScheduleInterface(neutralTiles); })
      .Case([&](attn::LinearAttentionOp linear) {
        return whyNotTiled(linear).empty() ? ScheduleInterface(chooseLinearAttention(linear, target))
                                           : ScheduleInterface();
      })
      .Case([&](attn::RecurrenceOp recurrence) {
        return whyNotTiled(recurrence).empty() ? ScheduleInterface(chooseRecurrence(recurrence, target))
                                               : ScheduleInterface();
      })
      .Default(ScheduleInterface());
}

struct SetSchedule : rapt::impl::AttnCPUScheduleBase<SetSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    const TargetInfo target = TargetInfo::of(getOperation());
    getOperation()->walk([&](Operation *op) {
      if (ScheduleInterface schedule = choose(op, target))
        op->setAttr(attn::AttnDialect::scheduleAttr, schedule);
    });
    setRowsOfSteps(getOperation());
    getOperation()->setAttr(attn::AttnDialect::scheduleAttr, scheduleOfModule(&getContext()));
  }
};

} // namespace
