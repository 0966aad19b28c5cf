//===- SetSchedule.cpp - The pass that chooses schedules -------------------------------===//
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

/// Neutral decompositions of attention, and linalg ops, are tiled as the generic target does it.
constexpr neutral::AttentionTiles kNeutralAttention{16, 64};
constexpr neutral::LinalgTiles kLinalg{16, 256};

/// Bytes of a row from which on a copy fetches it ahead, and how far: longer than memory takes to answer. The processor
/// by itself fetches what is read no further than a page's end, and nothing of what is only written.
constexpr CopySchedule kCopy{4096, 2048};
/// Rows of an elementwise tile that are handled together, so that what is live fits the registers.
constexpr ElementwiseSchedule kElementwiseTile{2};

/// Rows whose distance is a multiple of so many bytes lie on the same few lines of a first-level cache; a line more is
/// enough.
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
    MLIRContext *context = &getContext();
    const NamedAttribute entries[] = {{kCopies, attributeOf(context, kCopy)},
                                      {kElementwise, attributeOf(context, kElementwiseTile)},
                                      kLinalg.toEntry(context),
                                      {kRows, attributeOf(context, kRowSchedule)}};
    getOperation()->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(context, entries));
  }
};

} // namespace
