//===- SetTarget.cpp - Target and stage become part of the IR ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSETTARGET
#define GEN_PASS_DEF_ATTNSETSTAGE
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct SetTarget : rapt::impl::AttnSetTargetBase<SetTarget> {
  using AttnSetTargetBase::AttnSetTargetBase;
  void runOnOperation() override {
    TargetInfo info;
    info.vectorBytes = vectorBytes;
    info.vectorRegisters = vectorRegisters;
    info.byteDot = byteDot;
    info.bf16Dot = bf16Dot;
    info.bf16Round = bf16Round;
    info.powerScale = powerScale;
    info.amxBf16 = amxBf16;
    info.amxInt8 = amxInt8;
    info.emulated = emulated;
    getOperation()->setAttr(attn::AttnDialect::targetAttr, info.toAttr(&getContext()));
  }
};

struct SetStage : rapt::impl::AttnSetStageBase<SetStage> {
  using AttnSetStageBase::AttnSetStageBase;
  void runOnOperation() override {
    getOperation()->setAttr(attn::AttnDialect::stageAttr, StringAttr::get(&getContext(), stage));
  }
};

} // namespace
