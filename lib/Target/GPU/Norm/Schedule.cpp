//===- Schedule.cpp - Schedules of norms --------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/Norm/Norm.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDASCHEDULENORM
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;

namespace {

constexpr llvm::StringLiteral kThreadBlock = "thread_block", kLanes = "lanes", kThreads = "threads";

constexpr int64_t kVectorBytes = 16, kWarp = 32, kThreadsOfBlock = 128, kLeastLanes = 4;
/// Rows of more elements than a warp can hold have several warps. A thread has half as many elements then, so that more
/// loads of one row are under way.
constexpr int64_t kMostOfWarp = attn_gpu::NormTileOp::kMostElements, kMostOfThread = kMostOfWarp / 2;

struct SetNormSchedule : rapt::impl::AttnCUDAScheduleNormBase<SetNormSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      if (!isa<attn::LayerNormOp, attn::RMSNormOp>(op))
        return;
      if (cast<RankedTensorType>(op->getOperand(1).getType()).getRank() != 1)
        return remarkNeutral(op->getLoc(), "each of its heads has a weight of its own");
      std::string reason;
      std::optional<NormSchedule> schedule = chooseNorm(cast<RankedTensorType>(op->getOperand(0).getType()), reason);
      if (!schedule)
        return remarkNeutral(op->getLoc(), reason);
      op->setAttr(attn::AttnDialect::scheduleAttr, schedule->toAttr(&getContext()));
    });
  }
};

} // namespace

attn::ScheduleAttr NormSchedule::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  attn::ScheduleAttr block = neutral::scheduleOf(context, {entry(kLanes, lanes), entry(kThreads, threads)});
  return neutral::scheduleOf(context, {b.getNamedAttr(kThreadBlock, block)});
}

bool NormSchedule::isIn(Operation *op) {
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  return all && all.getNested(kThreadBlock);
}

FailureOr<NormSchedule> NormSchedule::of(Operation *op) {
  attn::ScheduleAttr block = attn::ScheduleAttr::of(op).getNested(kThreadBlock);
  std::optional<int64_t> lanes = block.getNumber(kLanes), threads = block.getNumber(kThreads);
  if (!lanes || !threads)
    return op->emitOpError() << "has a schedule '" << kThreadBlock << "' without '" << kLanes << "' or '" << kThreads
                             << "'";
  return NormSchedule{*lanes, *threads};
}

std::optional<NormSchedule> cuda::chooseNorm(RankedTensorType input, std::string &reason) {
  const int64_t width = input.getShape().back();
  const int64_t most = attn_gpu::NormTileOp::kMostElements * attn_gpu::NormTileOp::kMostLanes;
  if (ShapedType::isDynamic(width) || width < 1 || width > most) {
    reason = "its rows do not have from 1 to " + std::to_string(most) + " elements, which a thread block holds";
    return std::nullopt;
  }
  const int64_t vector = kVectorBytes * 8 / input.getElementTypeBitWidth();
  auto lanesFor = [&](int64_t elements) {
    return int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(width, llvm::alignDown(elements, vector))));
  };
  // Few elements: one vector for each thread. More: a warp, then several.
  int64_t lanes = std::clamp(lanesFor(vector), kLeastLanes, kWarp);
  if (lanesFor(kMostOfWarp) > kWarp)
    lanes = std::min(lanesFor(kMostOfThread), attn_gpu::NormTileOp::kMostLanes);
  // Heads are the rows of a tile where there are heads; there is no thread for more than there are.
  int64_t threads = std::max(lanes, kThreadsOfBlock);
  const int64_t heads = input.getRank() > 2 ? input.getShape()[input.getRank() - 2] : ShapedType::kDynamic;
  if (!ShapedType::isDynamic(heads) && heads > 0)
    threads = std::max(kWarp, std::min<int64_t>(threads, llvm::PowerOf2Ceil(heads) * lanes));
  return NormSchedule{lanes, std::max(threads, lanes)};
}
