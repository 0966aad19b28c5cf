//===- Schedule.cpp - Sizes of tiles of the generic target -------------------------------===//
#include "lib/Conversion/Schedule.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGENERICSCHEDULE
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Queries of a tile, and keys of a KV block: their scores stay in a first-level cache.
constexpr neutral::AttentionTiles kAttention{16, 64};
/// Points of a tile of a linalg op: enough work for a task.
constexpr neutral::LinalgTiles kLinalg{16, 256};

struct GenericSchedule : rapt::impl::AttnGenericScheduleBase<GenericSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    getOperation()->setAttr(attn::AttnDialect::scheduleAttr, kLinalg.toAttr(context));
    attn::ScheduleAttr attention = kAttention.toAttr(context);
    getOperation()->walk([&](Operation *op) {
      if (neutral::hasAttentionTiles(op))
        op->setAttr(attn::AttnDialect::scheduleAttr, attention);
    });
  }
};

} // namespace
