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

struct GenericSchedule : rapt::impl::AttnGenericScheduleBase<GenericSchedule> {
  using AttnGenericScheduleBase::AttnGenericScheduleBase;
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    getOperation()->setAttr(attn::AttnDialect::scheduleAttr, attn::LinalgTilesAttr::get(context, columns, rows));
    auto attention = attn::AttentionTilesAttr::get(context, keys, queries);
    auto orWhole = [](int64_t extent) { return extent ? std::optional(extent) : std::nullopt; };
    auto append = attn::AppendTilesAttr::get(context, orWhole(channels), orWhole(positions));
    getOperation()->walk([&](Operation *op) {
      if (neutral::hasAttentionTiles(op))
        op->setAttr(attn::AttnDialect::scheduleAttr, attention);
      else if (isa<attn::KVAppendOp>(op) && (positions || channels))
        op->setAttr(attn::AttnDialect::scheduleAttr, append);
    });
  }
};

} // namespace
