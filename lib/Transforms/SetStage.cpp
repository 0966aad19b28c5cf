//===- SetStage.cpp - The stage becomes part of the IR -------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "lib/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSETSTAGE
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct SetStage : rapt::impl::AttnSetStageBase<SetStage> {
  using AttnSetStageBase::AttnSetStageBase;
  void runOnOperation() override {
    getOperation()->setAttr(attn::AttnDialect::stageAttr, StringAttr::get(&getContext(), stage));
  }
};

} // namespace
