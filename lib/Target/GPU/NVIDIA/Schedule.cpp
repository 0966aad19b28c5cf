//===- Schedule.cpp - Sets the schedules of ops on NVIDIA's GPUs --------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDASCHEDULE
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

/// Gives an op the schedule that was chosen for it, or tells why it takes the neutral decomposition.
void set(Attribute schedule, Operation *op, StringRef reason) {
  if (schedule)
    op->setAttr(attn_gpu::AttnGPUDialect::scheduleAttr, schedule);
  else
    remarkNeutral(op->getLoc(), reason);
}

LogicalResult schedule(attn::AttentionOp op, const TargetInfo &machine) {
  if (failed(neutral::verifyAttentionTiles(op)))
    return failure();
  std::string reason;
  Attribute chosen = chooseAttention(op, machine, reason);
  set(chosen, op, reason);
  return success();
}

void schedule(attn::LinearAttentionOp op, const TargetInfo &machine) {
  std::string reason;
  Attribute chosen = chooseLinearAttention(op, machine, reason);
  set(chosen, op, reason);
}

void schedule(attn::LinearOp op, const TargetInfo &machine) {
  std::string reason;
  attn_gpu::LinearScheduleAttr chosen = chooseLinear(op, machine, reason);
  if (StringRef why; chosen && rotationOf(op, why)) {
    remarkFused(op.getLoc(), "fuse-rotation", "the tiles of the matmul that makes the heads rotate them");
    chosen = chosen.withRotation();
  } else if (!why.empty()) {
    remarkNotFused(op.getLoc(), "fuse-rotation", why);
  }
  set(chosen, op, reason);
}

void scheduleNorm(Operation *op) {
  if (cast<RankedTensorType>(op->getOperand(1).getType()).getRank() != 1)
    return remarkNeutral(op->getLoc(), "each of its heads has a weight of its own");
  std::string reason;
  Attribute chosen = chooseNorm(cast<RankedTensorType>(op->getOperand(0).getType()), reason);
  set(chosen, op, reason);
}

struct SetSchedules : rapt::impl::AttnCUDAScheduleBase<SetSchedules> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    const TargetInfo machine = TargetInfo::of(getOperation());
    const WalkResult result = getOperation()->walk([&](Operation *op) {
      LogicalResult done = success();
      llvm::TypeSwitch<Operation *>(op)
          .Case<attn::AttentionOp>([&](auto attention) { done = schedule(attention, machine); })
          .Case<attn::LinearAttentionOp>([&](auto linear) { schedule(linear, machine); })
          .Case<attn::LinearOp>([&](auto linear) { schedule(linear, machine); })
          .Case<attn::LayerNormOp, attn::RMSNormOp>([](auto norm) { scheduleNorm(norm); });
      return failed(done) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
