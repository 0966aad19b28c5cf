//===- SetTarget.cpp - The target becomes part of the IR --------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSETTARGET
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct SetTarget : rapt::impl::AttnSetTargetBase<SetTarget> {
  using AttnSetTargetBase::AttnSetTargetBase;
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    if (target.empty()) {
      getOperation().emitError() << "no target given: target=NAME, as in --target";
      return signalPassFailure();
    }
    TargetInfo info;
    info.target = target;
    for (const std::string &capability : capabilities)
      if (!info.set(capability)) {
        getOperation().emitError() << "unknown capability '" << capability
                                   << "'; lib/TargetInfo/Capabilities.def lists those of a target";
        return signalPassFailure();
      }
    getOperation()->setAttr(attn::AttnDialect::targetAttr, info.toAttr(&getContext()));
  }
};

} // namespace
