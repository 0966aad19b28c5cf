//===- SetSchedule.cpp - attn-cpu-schedule: chooses schedules --------------------------===//
#include "lib/Conversion/Schedule.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fields.h"
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
using attn::ScheduleAttr;

namespace {

/// Tiles of neutral decompositions of attention, and of linalg ops: those of the generic target.
constexpr neutral::AttentionTiles kNeutralAttention{16, 64};
constexpr neutral::LinalgTiles kLinalg{16, 256};

/// Copies prefetch rows of at least 4096 bytes, 2048 bytes ahead, which covers the latency of memory. The hardware
/// prefetcher stops at the end of a page, and does not prefetch lines that are only written.
constexpr CopySchedule kCopy{4096, 2048};
/// Rows of an elementwise tile that are vectorized together, so that live values fit the registers.
constexpr ElementwiseSchedule kElementwiseTile{2};

/// Rows at multiples of 2048 bytes map to the same few sets of L1; one cache line of padding per row avoids it.
constexpr RowSchedule kRowSchedule{2048, 64};

/// The schedule of an op; null where there is nothing to choose.
ScheduleAttr choose(Operation *op, const TargetInfo &target) {
  MLIRContext *context = op->getContext();
  return llvm::TypeSwitch<Operation *, ScheduleAttr>(op)
      .Case([&](attn::LinearOp linear) {
        return whyNotTiled(linear).empty() ? attributeOf(context, chooseLinear(linear, target)) : ScheduleAttr();
      })
      .Case([&](attn::AttentionOp attention) {
        return whyNotTiled(attention).empty() ? attributeOf(context, chooseAttention(attention, target))
                                              : kNeutralAttention.toAttr(context);
      })
      .Case([&](attn::AttentionStateOp) { return kNeutralAttention.toAttr(context); })
      .Case([&](attn::LinearAttentionOp linear) {
        return whyNotTiled(linear).empty() ? attributeOf(context, chooseLinearAttention(linear, target))
                                           : ScheduleAttr();
      })
      .Case([&](attn::RecurrenceOp recurrence) {
        return whyNotTiled(recurrence).empty() ? attributeOf(context, chooseRecurrence(recurrence, target))
                                               : ScheduleAttr();
      })
      .Default(ScheduleAttr());
}

struct SetSchedule : rapt::impl::AttnCPUScheduleBase<SetSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    const TargetInfo target = TargetInfo::of(getOperation());
    getOperation()->walk([&](Operation *op) {
      if (ScheduleAttr schedule = choose(op, target))
        op->setAttr(attn::AttnDialect::scheduleAttr, schedule);
    });
    setRowsOfSteps(getOperation());
    MLIRContext *context = &getContext();
    const NamedAttribute entries[] = {{kCopies, attributeOf(context, kCopy)},
                                      {kElementwise, attributeOf(context, kElementwiseTile)},
                                      kLinalg.toEntry(context),
                                      {kRows, attributeOf(context, kRowSchedule)}};
    getOperation()->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(context, entries));
  }
};

} // namespace
