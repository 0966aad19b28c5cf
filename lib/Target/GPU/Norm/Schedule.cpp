//===- Schedule.cpp - Schedules of norms --------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/Norm/Norm.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;

static constexpr llvm::StringLiteral kThreadBlock = "thread_block", kLanes = "lanes", kThreads = "threads";

void NormSchedule::setOn(Operation *op) const {
  MLIRContext *context = op->getContext();
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  attn::ScheduleAttr block = neutral::scheduleOf(context, {entry(kLanes, lanes), entry(kThreads, threads)});
  op->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(context, {b.getNamedAttr(kThreadBlock, block)}));
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

std::string any_gpu::refusalOf(RankedTensorType input) {
  const int64_t width = input.getShape().back();
  const int64_t most = attn_gpu::NormTileOp::kMostElements * attn_gpu::NormTileOp::kMostLanes;
  if (ShapedType::isDynamic(width) || width < 1 || width > most)
    return "its rows do not have from 1 to " + std::to_string(most) + " elements, which a thread block holds";
  return "";
}
