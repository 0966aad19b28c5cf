//===- SetTarget.cpp - The target becomes part of the IR --------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSETTARGET
#include "lib/Target/CPU/Layout/Passes.h.inc"
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

} // namespace
